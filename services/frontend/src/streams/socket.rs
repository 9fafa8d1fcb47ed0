//! A WebSocket: what comes, and what is on its way out.

use std::collections::VecDeque;
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use bytes::Bytes;
use futures::{Sink, Stream};
use hyper::upgrade::Upgraded;
use hyper_util::rt::TokioIo;
use stream_session::limits;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::error::{CapacityError, Error};
use tokio_tungstenite::tungstenite::protocol::frame::coding::CloseCode;
use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Role, WebSocketConfig};
use tokio_tungstenite::tungstenite::{Message, Utf8Bytes};

/// Bytes read at once, and kept for every connection: few, because most connections are idle.
const READ_BUFFER: usize = 2 << 10;
/// Small messages are gathered up to this many bytes before they are written.
const WRITE_BUFFER: usize = 16 << 10;

/// What a turn of the socket has come to.
#[derive(Debug)]
pub(super) enum Heard {
    /// A text message; one that is not UTF-8 as something else that is not, after which nothing can be read any more.
    Text(Bytes),
    Binary(Bytes),
    /// A ping, which is answered, or a pong.
    Sign,
    /// A message above the limit. Nothing can be read any more.
    TooLarge,
    /// Something that is not WebSocket. Nothing can be read any more.
    Broken,
    /// Everything that was to be sent is.
    Sent,
    /// The client has closed, or the transport is lost.
    Gone,
}

/// A WebSocket of a client.
pub(super) struct Socket {
    stream: WebSocketStream<Counted>,
    waiting: VecDeque<Message>,
    waiting_bytes: usize,
    /// Whether something was given to be sent that the transport has not taken.
    is_sending: bool,
    /// What comes is not WebSocket any more.
    is_unreadable: bool,
}

impl Socket {
    pub(super) async fn new(upgraded: Upgraded) -> Self {
        let config = WebSocketConfig::default()
            .read_buffer_size(READ_BUFFER)
            .write_buffer_size(WRITE_BUFFER)
            .max_message_size(Some(limits::MESSAGE_BYTES))
            .max_frame_size(Some(limits::MESSAGE_BYTES));
        let transport = Counted { transport: TokioIo::new(upgraded), read: 0, written: 0 };
        let stream = WebSocketStream::from_raw_socket(transport, Role::Server, Some(config)).await;
        Self { stream, waiting: VecDeque::new(), waiting_bytes: 0, is_sending: false, is_unreadable: false }
    }

    /// Bytes that have come.
    pub(super) fn read(&self) -> u64 {
        self.stream.get_ref().read
    }

    /// Bytes that have gone.
    pub(super) fn written(&self) -> u64 {
        self.stream.get_ref().written
    }

    /// Bytes of messages that have not yet been begun to be sent.
    pub(super) fn waiting(&self) -> usize {
        self.waiting_bytes
    }

    /// Whether something is to be sent.
    pub(super) fn is_sending(&self) -> bool {
        self.is_sending
    }

    pub(super) fn text(&mut self, text: String) {
        self.queue(Message::text(text));
    }

    pub(super) fn binary(&mut self, message: Vec<u8>) {
        self.queue(Message::binary(message));
    }

    pub(super) fn ping(&mut self) {
        self.queue(Message::Ping(Bytes::new()));
    }

    /// Closes, and waits for the client to do the same. Until then what it still sends is taken off the wire: a transport that is
    /// closed with something unread may lose what was sent last.
    pub(super) async fn close(mut self, code: u16) {
        self.queue(Message::Close(Some(CloseFrame { code: CloseCode::from(code), reason: Utf8Bytes::default() })));
        while !matches!(self.turn(true).await, Heard::Gone) {
            if self.is_unreadable && !self.is_sending {
                let _ = tokio::io::copy(self.stream.get_mut(), &mut tokio::io::sink()).await;
                return;
            }
        }
    }

    fn queue(&mut self, message: Message) {
        self.waiting_bytes += message.len();
        self.waiting.push_back(message);
        self.is_sending = true;
    }

    /// Sends, and reads if `reading`, until there is something to tell. Cancel safe.
    pub(super) async fn turn(&mut self, reading: bool) -> Heard {
        std::future::poll_fn(|cx| {
            match self.poll_send(cx) {
                Poll::Ready(Err(_)) => return Poll::Ready(Heard::Gone),
                Poll::Ready(Ok(())) if std::mem::take(&mut self.is_sending) => return Poll::Ready(Heard::Sent),
                _ => {}
            }
            if reading && !self.is_unreadable { self.poll_hear(cx) } else { Poll::Pending }
        })
        .await
    }

    fn poll_send(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Error>> {
        let mut stream = Pin::new(&mut self.stream);
        while let Some(message) = self.waiting.front() {
            ready!(stream.as_mut().poll_ready(cx))?;
            self.waiting_bytes -= message.len();
            if let Some(message) = self.waiting.pop_front() {
                stream.as_mut().start_send(message)?;
            }
        }
        stream.poll_flush(cx)
    }

    fn poll_hear(&mut self, cx: &mut Context<'_>) -> Poll<Heard> {
        let next = ready!(Pin::new(&mut self.stream).poll_next(cx));
        self.is_unreadable = matches!(next, Some(Err(_)));
        Poll::Ready(match next {
            Some(Ok(Message::Text(text))) => Heard::Text(text.into()),
            Some(Ok(Message::Binary(message))) => Heard::Binary(message),
            Some(Ok(Message::Ping(_) | Message::Pong(_) | Message::Frame(_))) => Heard::Sign,
            Some(Ok(Message::Close(_))) | None => Heard::Gone,
            Some(Err(Error::Utf8(_))) => Heard::Text(Bytes::from_static(b"\xff")),
            Some(Err(Error::Capacity(CapacityError::MessageTooLong { .. }))) => Heard::TooLarge,
            Some(Err(Error::Protocol(problem))) if !is_loss(&problem) => Heard::Broken,
            Some(Err(_)) => Heard::Gone,
        })
    }
}

fn is_loss(problem: &tokio_tungstenite::tungstenite::error::ProtocolError) -> bool {
    use tokio_tungstenite::tungstenite::error::ProtocolError::{ReceivedAfterClosing, ResetWithoutClosingHandshake};
    matches!(problem, ResetWithoutClosingHandshake | ReceivedAfterClosing)
}

/// A transport that counts, which tells progress from none.
struct Counted {
    transport: TokioIo<Upgraded>,
    read: u64,
    written: u64,
}

impl AsyncRead for Counted {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let done = Pin::new(&mut self.transport).poll_read(cx, buffer);
        self.read += (buffer.filled().len() - before) as u64;
        done
    }
}

impl AsyncWrite for Counted {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let written = ready!(Pin::new(&mut self.transport).poll_write(cx, bytes))?;
        self.written += written as u64;
        Poll::Ready(Ok(written))
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.transport).poll_shutdown(cx)
    }
}
