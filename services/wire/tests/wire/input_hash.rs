//! Input hashes. The texts that are hashed are tested in the crate, beside the encoder.

use wire::{InvalidModelCall, Message, ModelCall, ToolChoice, ToolDefinition};

fn echo(text: &str) -> ModelCall {
    ModelCall { model: "echo".into(), messages: vec![Message::text("user", text)], ..Default::default() }
}

#[test]
fn requests_of_old_journals_keep_their_hashes() {
    let hashes = [
        ("hello", "2611c24a1a665deca46265ed96d1e1efc699260c9cba9c07f22cda7939232c30"),
        ("new", "403e89a947b27e8d1ce3838a7481b8fc33e51c0e03489bdb745ceab8b02f260d"),
        ("first", "4b650e7caba2b20b67e47b9f3f4314475101bab622ea3d94170222e7705cfd50"),
        ("second", "a37db3f59391a4d63e846aa58b017c49c59d55e2e03da73849ddcd2a1a74b5ce"),
    ];
    for (text, hash) in hashes {
        assert_eq!(wire::input_hash(&echo(text)).unwrap(), hash);
    }
}

#[test]
fn ids_have_no_part_in_it() {
    let call = ModelCall { id: "x".into(), input_hash: "y".into(), ..echo("hello") };
    assert_eq!(wire::input_hash(&call), wire::input_hash(&echo("hello")));
}

#[test]
fn everything_that_the_model_is_asked_has() {
    let changed = [
        echo("hello "),
        ModelCall { model: "other".into(), ..echo("hello") },
        ModelCall { params: [("temperature".to_owned(), "0".to_owned())].into(), ..echo("hello") },
        ModelCall { tools: vec![ToolDefinition::default()], ..echo("hello") },
        ModelCall { tool_choice: Some(ToolChoice::default()), ..echo("hello") },
    ];
    for call in changed {
        assert_ne!(wire::input_hash(&call), wire::input_hash(&echo("hello")), "{call:?}");
    }
}

#[test]
fn an_unknown_tool_choice_has_no_hash() {
    let call = ModelCall { tool_choice: Some(ToolChoice { mode: 9, ..Default::default() }), ..echo("hello") };
    assert_eq!(wire::input_hash(&call), Err(InvalidModelCall::ToolChoiceMode(9)));
}
