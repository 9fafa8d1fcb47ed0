//! What a node says of itself when it gives a sign of life: its name, and a mark of its process by which others on the same
//! machine can tell that it has ended.

/// Stands before the mark; no name has it.
const MARK: char = '\n';

/// The text of a sign.
pub(super) fn write(name: &str, mark: Option<&str>) -> String {
    let name = name.replace(MARK, " ");
    match mark {
        Some(mark) => format!("{name}{MARK}{mark}"),
        None => name,
    }
}

/// Whether whoever gave the sign is known to have ended.
pub(super) fn is_of_the_dead(sign: &str) -> bool {
    sign.split_once(MARK).is_some_and(|(_, mark)| env::has_ended(mark))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sign_tells_by_its_mark_whether_its_process_has_ended() {
        let Some(own) = env::process_mark() else { return };
        assert!(!is_of_the_dead(&write("node", Some(&own))));
        assert!(is_of_the_dead(&write("a\nnode", Some(&format!("{own}0")))));
        assert!(!is_of_the_dead(&write("node", None)));
        assert!(!is_of_the_dead(""));
    }
}
