//! What the operating system says about the process, under the names that Prometheus knows for it.

use std::fmt;

use procfs::process::Process;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::DescriptorEncoder;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Unit;

use super::metrics::write;

/// Memory, processor time and open files. A value that the system does not tell is left out.
#[derive(Debug)]
pub(super) struct ProcessCollector;

impl Collector for ProcessCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let Ok(process) = Process::myself() else { return Ok(()) };
        if let Ok(stat) = process.stat() {
            let resident = ConstGauge::new(stat.rss.saturating_mul(procfs::page_size()));
            let bytes = Some(&Unit::Bytes);
            write(&mut encoder, ("process_resident_memory", "Resident memory", bytes), &resident)?;
            let ticks = stat.utime.saturating_add(stat.stime);
            let processor = ConstCounter::new(ticks as f64 / procfs::ticks_per_second() as f64);
            let seconds = Some(&Unit::Seconds);
            write(&mut encoder, ("process_cpu", "Processor time, of user and system", seconds), &processor)?;
        }
        if let Ok(open) = process.fd_count() {
            write(&mut encoder, ("process_open_fds", "Open file descriptors", None), &ConstGauge::new(open))?;
        }
        if let Ok(limits) = process.limits()
            && let procfs::process::LimitValue::Value(most) = limits.max_open_files.soft_limit
        {
            write(&mut encoder, ("process_max_fds", "Most file descriptors", None), &ConstGauge::new(most))?;
        }
        Ok(())
    }
}
