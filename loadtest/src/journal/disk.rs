//! The disk by itself.

use std::fs::File;
use std::os::unix::fs::FileExt;
use std::path::Path;
use std::time::Duration;

use tokio::time::Instant;

/// As much as the smallest transaction adds to a write-ahead log.
const PAGE: [u8; 4096] = [0x5a; 4096];
/// Pages that are written again and again. The file does not grow, as a write-ahead log that is reused does not.
const PAGES: u64 = 1024;

/// A file of so many pages.
pub struct Disk {
    file: File,
}

impl Disk {
    pub fn open(path: &Path) -> anyhow::Result<Self> {
        let disk = Self { file: File::create_new(path)? };
        (0..PAGES).try_for_each(|page| disk.write(page))?;
        disk.file.sync_all()?;
        Ok(disk)
    }

    /// How often a page can be overwritten and made durable.
    pub fn syncs_per_second(&self, bound: Duration) -> anyhow::Result<f64> {
        let begun = Instant::now();
        let mut count = 0;
        while begun.elapsed() < bound {
            self.write(count)?;
            self.file.sync_data()?;
            count += 1;
        }
        Ok(count as f64 / begun.elapsed().as_secs_f64())
    }

    fn write(&self, page: u64) -> std::io::Result<()> {
        self.file.write_all_at(&PAGE, page % PAGES * PAGE.len() as u64)
    }
}
