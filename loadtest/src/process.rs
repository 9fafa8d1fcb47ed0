//! What a process has used, from /proc.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::Context;

/// A process on this machine.
#[derive(Clone, Copy)]
pub struct Process(u32);

impl Process {
    /// This one.
    pub fn own() -> Self {
        Self(std::process::id())
    }

    pub fn with_id(id: u32) -> Self {
        Self(id)
    }

    /// Processor time used so far, by all of its threads.
    pub fn cpu(self) -> anyhow::Result<Duration> {
        let stat = self.read("stat")?;
        // The name, in parentheses, may hold anything; the numbers begin after it, with field 3.
        let (_, numbers) = stat.rsplit_once(") ").context("stat has no name")?;
        let fields: Vec<&str> = numbers.split(' ').collect();
        let ticks =
            |field: usize| -> anyhow::Result<u64> { Ok(fields.get(field - 3).context("stat is short")?.parse()?) };
        let (user, system) = (ticks(14)?, ticks(15)?);
        Ok(Duration::from_secs(1).mul_f64((user + system) as f64 / rustix::param::clock_ticks_per_second() as f64))
    }

    /// The most memory it has held, in bytes.
    pub fn peak_memory(self) -> anyhow::Result<u64> {
        let status = self.read("status")?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).context("status has no VmHWM")?;
        let kilobytes: u64 = line.trim().trim_end_matches(" kB").parse()?;
        Ok(kilobytes << 10)
    }

    fn read(self, file: &str) -> anyhow::Result<String> {
        let path = format!("/proc/{}/{file}", self.0);
        fs::read_to_string(&path).context(path)
    }
}

/// Bytes that the files of a directory occupy.
pub fn directory_bytes(directory: &Path) -> anyhow::Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(directory)? {
        bytes += entry?.metadata()?.len();
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_uses_something() {
        assert!(Process::own().peak_memory().unwrap() > 1 << 20);
        assert!(Process::own().cpu().unwrap() < Duration::from_secs(3600));
    }
}
