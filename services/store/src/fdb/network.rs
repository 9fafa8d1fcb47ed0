//! The thread on which the client does its work: one a process, from the first store that is opened to the exit.

use std::convert::Infallible;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{self, JoinHandle};

use foundationdb::api::{FdbApiBuilder, NetworkBuilder};
use foundationdb::options::NetworkOption;
use foundationdb::{FdbError, FdbResult};

use super::{OpenError, Tls};

/// The client's code for what the operating system refuses.
const PLATFORM_ERROR: i32 = 1500;

/// How the one start went, and with which options.
static START: OnceLock<(Tls, FdbResult<()>)> = OnceLock::new();

/// Whoever stops it.
static KEEPER: Mutex<Option<Keeper>> = Mutex::new(None);

/// The thread that has had the client's thread started, and stops it once `order` is dropped.
struct Keeper {
    order: SyncSender<Infallible>,
    thread: JoinHandle<()>,
}

/// Starts the client with these options, if it does not run yet. It can be started only once, so what came of it stays.
pub(super) fn start(tls: &Tls) -> Result<(), OpenError> {
    let options = tls.network_options()?;
    let (started_with, outcome) = START.get_or_init(|| (tls.clone(), start_with(options)));
    (*outcome).map_err(OpenError::Client)?;
    if started_with == tls { Ok(()) } else { Err(OpenError::OtherTls) }
}

fn start_with(options: Vec<NetworkOption>) -> FdbResult<()> {
    let network = FdbApiBuilder::default().build()?;
    let network = options.into_iter().try_fold(network, NetworkBuilder::set_option)?;
    stop_at_exit()?;
    let (order, stop) = sync_channel(1);
    let (told, booted) = sync_channel(1);
    let work = move || keep(network, &told, &stop);
    let thread = thread::Builder::new().name("fdb-keeper".into()).spawn(work).map_err(|_| refused())?;
    booted.recv().unwrap_or_else(|_| Err(refused()))?;
    *keeper() = Some(Keeper { order, thread });
    Ok(())
}

/// Runs the client until it is ordered to stop, by the end of the channel.
#[allow(unsafe_code, reason = "the client asks its caller for a promise")]
fn keep(network: NetworkBuilder, told: &SyncSender<FdbResult<()>>, stop: &Receiver<Infallible>) {
    // SAFETY: What `NetworkBuilder::boot` returns must be dropped before the process exits. It is dropped here, and
    // `stop_client`, which the exit calls, waits for it.
    match unsafe { network.boot() } {
        Ok(running) => {
            let _ = told.send(Ok(()));
            let _ = stop.recv();
            drop(running);
        }
        Err(error) => {
            let _ = told.send(Err(error));
        }
    }
}

/// Has the exit stop the client before anything is taken down that its library has made so far. What it makes later is taken
/// down before, so this is said again once the client has done some work: nothing new is needed to stop it then.
#[allow(unsafe_code, reason = "the standard library has no word for it")]
pub(super) fn stop_at_exit() -> FdbResult<()> {
    // SAFETY: `atexit` asks for nothing but a function that does not unwind, which one that is `extern "C"` never does.
    if unsafe { libc::atexit(stop_client) } == 0 { Ok(()) } else { Err(refused()) }
}

/// By now the thread that exits has lost what the client's library keeps for each thread, and may not call it any more:
/// the keeper does.
extern "C" fn stop_client() {
    if let Some(Keeper { order, thread }) = keeper().take() {
        drop(order);
        let _ = thread.join();
    }
}

fn keeper() -> MutexGuard<'static, Option<Keeper>> {
    KEEPER.lock().unwrap_or_else(PoisonError::into_inner)
}

fn refused() -> FdbError {
    FdbError::from_code(PLATFORM_ERROR)
}
