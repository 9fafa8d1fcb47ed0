//! The thread on which the client does its work: one a process, from the first store that is opened to the exit.

use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use foundationdb::api::{FdbApiBuilder, NetworkAutoStop, NetworkBuilder};
use foundationdb::options::NetworkOption;
use foundationdb::{FdbError, FdbResult};

use super::{OpenError, Tls};

/// The client's code for what the operating system refuses.
const PLATFORM_ERROR: i32 = 1500;

/// How the one start went, and with which options.
static START: OnceLock<(Tls, FdbResult<()>)> = OnceLock::new();

/// The running thread.
static THREAD: Mutex<Option<NetworkAutoStop>> = Mutex::new(None);

/// Starts the client with these options, if it does not run yet. It can be started only once, so what came of it stays.
pub(super) fn start(tls: &Tls) -> Result<(), OpenError> {
    let options = tls.network_options()?;
    let (started_with, outcome) = START.get_or_init(|| (tls.clone(), start_with(options)));
    (*outcome).map_err(OpenError::Client)?;
    if started_with == tls { Ok(()) } else { Err(OpenError::OtherTls) }
}

fn start_with(options: Vec<NetworkOption>) -> FdbResult<()> {
    let network = FdbApiBuilder::default().build()?;
    boot(options.into_iter().try_fold(network, NetworkBuilder::set_option)?)
}

#[allow(unsafe_code, reason = "the one place where the client asks its caller for a promise")]
fn boot(network: NetworkBuilder) -> FdbResult<()> {
    // SAFETY: What `NetworkBuilder::boot` returns must be dropped before the process exits. `stop` does that, and `exit`
    // calls it before the library is taken down, because it is registered after the library was loaded. `atexit` asks for
    // nothing but a function that does not unwind, which one that is `extern "C"` never does.
    unsafe {
        if libc::atexit(stop) != 0 {
            return Err(FdbError::from_code(PLATFORM_ERROR));
        }
        *thread() = Some(network.boot()?);
    }
    Ok(())
}

extern "C" fn stop() {
    drop(thread().take());
}

fn thread() -> MutexGuard<'static, Option<NetworkAutoStop>> {
    THREAD.lock().unwrap_or_else(PoisonError::into_inner)
}
