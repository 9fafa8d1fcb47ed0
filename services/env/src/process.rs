//! Which process this is, among all that ever ran on this machine, and whether another one has ended.

use std::fs;

/// A mark of this process that no other one has; `None` where that cannot be told (only Linux tells).
///
/// Processes in containers see only those beside them, so the mark names the space of process numbers that it is of.
#[must_use]
pub fn process_mark() -> Option<String> {
    let number = std::process::id();
    Some(format!("{}/{number}/{}", place()?, begun(number)?))
}

/// Whether the process with this mark has ended. One that this process could not see is not known to have.
#[must_use]
pub fn has_ended(mark: &str) -> bool {
    let Some((at, process)) = place().and_then(|place| mark.strip_prefix(&place)?.strip_prefix('/')?.split_once('/'))
    else {
        return false;
    };
    let Ok(number) = at.parse() else { return false };
    begun(number).is_none_or(|begun| begun != process)
}

/// The run of the machine, and the space of process numbers.
fn place() -> Option<String> {
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let space = fs::read_link("/proc/self/ns/pid").ok()?;
    Some(format!("{}/{}", boot.trim(), space.display()))
}

/// When a process began, in ticks since the machine did; `None` if there is none of this number.
fn begun(number: u32) -> Option<String> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    // The name of the program is in parentheses, and may have any in it. What follows begins with the third field.
    let (_, fields) = stat.rsplit_once(')')?;
    fields.split_whitespace().nth(19).map(str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_has_ended_once_nobody_has_its_mark() {
        let Some(own) = process_mark() else { return };
        assert!(!has_ended(&own));
        let mut child = std::process::Command::new("sleep").arg("60").spawn().unwrap();
        let mark = format!("{}/{}/{}", place().unwrap(), child.id(), begun(child.id()).unwrap());
        assert!(!has_ended(&mark));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(has_ended(&mark));
        assert!(has_ended(&format!("{own}0")), "another process has its number");
    }

    #[test]
    fn what_runs_elsewhere_is_not_known_to_have_ended() {
        for mark in ["", "x", "another-boot/pid:[1]/1/1", "/1/1"] {
            assert!(!has_ended(mark), "{mark}");
        }
    }
}
