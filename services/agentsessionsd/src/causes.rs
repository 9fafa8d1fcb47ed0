//! An error with its causes, on one line.

/// The messages from the outermost to the root, without those that the one before has in it already.
#[must_use]
pub fn with_causes(error: &anyhow::Error) -> String {
    let mut text = String::new();
    let mut last = String::new();
    for cause in error.chain().map(ToString::to_string) {
        if last.is_empty() {
            text.clone_from(&cause);
        } else if !last.contains(&cause) {
            text = format!("{text}: {cause}");
        } else {
            continue;
        }
        last = cause;
    }
    text
}

#[cfg(test)]
mod tests {
    use anyhow::anyhow;

    use super::*;

    #[test]
    fn causes_are_said_once() {
        let error = anyhow!("no space").context("cannot write: no space").context("journal cannot be opened");
        assert_eq!(with_causes(&error), "journal cannot be opened: cannot write: no space");
        assert_eq!(with_causes(&anyhow!("alone")), "alone");
    }
}
