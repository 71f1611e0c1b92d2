//! The bytes of a connection, with the timeouts that the HTTP implementation does not have.

use super::stream_executor::FreshReads;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};

/// The first bytes of every HTTP/2 connection.
const HTTP2_PREFACE: &[u8] = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n";

/// A stream that fails if its first bytes do not tell the version of HTTP in time, or if the other end does not take what is written.
///
/// The first of these ends connections that send nothing at all. After the first bytes, HTTP/1 has a timeout for headers, and HTTP/2 has pings.
pub(super) struct TimedStream<S> {
    inner: S,
    reads: FreshReads,
    /// The timeout of the first bytes, and how many of them agree with [`HTTP2_PREFACE`].
    preface: Option<(Pin<Box<Sleep>>, usize)>,
    write_timeout: Duration,
    /// Runs while a write waits.
    write: Option<Pin<Box<Sleep>>>,
}

impl<S> TimedStream<S> {
    /// Makes a stream of `inner`, whose first bytes must arrive within `first_bytes`; each write must be taken, at least in part, within `write_timeout`. Reads that
    /// return bytes are recorded in `reads`.
    pub(super) fn new(inner: S, first_bytes: Duration, write_timeout: Duration, reads: FreshReads) -> TimedStream<S> {
        TimedStream { inner, reads, preface: Some((Box::pin(sleep(first_bytes)), 0)), write_timeout, write: None }
    }

    /// Starts or stops the timeout of writes; fails if it is over.
    fn watch_write<T>(&mut self, cx: &mut Context<'_>, result: Poll<io::Result<T>>) -> Poll<io::Result<T>> {
        if result.is_ready() {
            self.write = None;
            return result;
        }
        let timeout = self.write_timeout;
        let timer = self.write.get_or_insert_with(|| Box::pin(sleep(timeout)));
        timer.as_mut().poll(cx).map(|()| Err(io::Error::new(ErrorKind::TimedOut, "the client takes no bytes")))
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for TimedStream<S> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buffer: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let this = &mut *self;
        let before = buffer.filled().len();
        let result = Pin::new(&mut this.inner).poll_read(cx, buffer);
        if buffer.filled().len() > before {
            this.reads.record();
        }
        let Some((timer, num_agreeing)) = &mut this.preface else { return result };
        if result.is_pending() {
            return timer.as_mut().poll(cx).map(|()| Err(io::Error::new(ErrorKind::TimedOut, "the client sends no request")));
        }
        let new = &buffer.filled()[before..];
        if !new.is_empty() && HTTP2_PREFACE[*num_agreeing..].strip_prefix(new).is_some_and(|rest| !rest.is_empty()) {
            *num_agreeing += new.len();
        } else {
            this.preface = None;
        }
        result
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for TimedStream<S> {
    fn poll_write(mut self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write(cx, bytes);
        self.watch_write(cx, result)
    }

    fn poll_write_vectored(mut self: Pin<&mut Self>, cx: &mut Context<'_>, slices: &[IoSlice<'_>]) -> Poll<io::Result<usize>> {
        let result = Pin::new(&mut self.inner).poll_write_vectored(cx, slices);
        self.watch_write(cx, result)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_flush(cx);
        self.watch_write(cx, result)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let result = Pin::new(&mut self.inner).poll_shutdown(cx);
        self.watch_write(cx, result)
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;
    use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex};

    const SHORT: Duration = Duration::from_millis(20);
    const LONG: Duration = Duration::from_secs(60);

    fn timed<S>(inner: S, first_bytes: Duration, write_timeout: Duration) -> TimedStream<S> {
        TimedStream::new(inner, first_bytes, write_timeout, FreshReads::default())
    }

    #[tokio::test]
    async fn first_bytes_must_arrive_in_time() {
        for sent in [&b""[..], b"PRI", &HTTP2_PREFACE[..HTTP2_PREFACE.len() - 1]] {
            let (mut client, server) = duplex(64);
            let mut server = timed(server, SHORT, LONG);
            client.write_all(sent).await.unwrap();
            let mut read = Vec::new();
            assert_eq!(server.read_to_end(&mut read).await.unwrap_err().kind(), ErrorKind::TimedOut);
            assert_eq!(read, sent);
        }
    }

    #[tokio::test]
    async fn later_bytes_may_take_their_time() {
        for sent in [&b"G"[..], b"PRX", HTTP2_PREFACE] {
            let (mut client, server) = duplex(64);
            let mut server = timed(server, SHORT, LONG);
            client.write_all(sent).await.unwrap();
            let mut read = vec![0; sent.len()];
            server.read_exact(&mut read).await.unwrap();
            let next = tokio::time::timeout(5 * SHORT, server.read_u8()).await;
            assert!(next.is_err(), "{next:?}");
        }
    }

    #[tokio::test]
    async fn a_write_that_nobody_takes_fails() {
        let (mut client, server) = duplex(8);
        let mut server = timed(server, LONG, SHORT);
        server.write_all(&[0; 8]).await.unwrap();
        assert_eq!(server.write_all(&[0]).await.unwrap_err().kind(), ErrorKind::TimedOut);
        client.read_exact(&mut [0; 8]).await.unwrap();
        // The timeout is that of one write.
        server.write_all(&[0; 8]).await.unwrap();
    }
}
