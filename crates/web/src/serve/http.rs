//! What is needed of HTTP/1.1: the head of a request, its body, and a reply.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::time::{Duration, Instant};

/// Bytes of the head of a request, at most.
const MOST_HEAD: usize = 16 << 10;
/// How long a client may take for a request, or for a reply.
pub(super) const PATIENCE: Duration = Duration::from_secs(10);
/// How long bytes are discarded that nobody asked for.
const LINGER: Duration = Duration::from_secs(1);

/// Everything of a request but its body.
pub(super) struct Head {
    pub(super) method: String,
    pub(super) path: String,
    pub(super) host: Option<String>,
    pub(super) origin: Option<String>,
    /// Bytes of the body, as the client says.
    pub(super) length: usize,
    /// Whether the body comes in chunks, which are not read.
    pub(super) is_chunked: bool,
    /// Whether the client wants to send another request.
    pub(super) keeps: bool,
}

/// A response.
pub(super) struct Reply {
    pub(super) status: u16,
    pub(super) kind: &'static str,
    pub(super) body: Vec<u8>,
}

impl Reply {
    pub(super) fn error(status: u16, text: &str) -> Reply {
        Reply { status, kind: "text/plain; charset=utf-8", body: format!("{text}\n").into_bytes() }
    }
}

/// Why no request was read.
pub(super) enum Unread {
    /// The client is gone or late.
    Silent,
    /// What the client sent is refused.
    Refused(Reply),
}

impl From<io::Error> for Unread {
    fn from(_: io::Error) -> Unread {
        Unread::Silent
    }
}

fn malformed(text: &str) -> Unread {
    Unread::Refused(Reply::error(400, text))
}

/// A connection, whose requests are read one after the other.
pub(super) struct Connection<'s> {
    stream: &'s TcpStream,
    reader: BufReader<&'s TcpStream>,
    /// When the client is late.
    until: Instant,
}

impl<'s> Connection<'s> {
    pub(super) fn new(stream: &'s TcpStream) -> Connection<'s> {
        _ = stream.set_nodelay(true);
        Connection { stream, reader: BufReader::new(stream), until: Instant::now() }
    }

    /// Lets a read take no longer than until the client is late.
    fn wait(&self) -> Result<(), Unread> {
        let left = self.until.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(Unread::Silent);
        }
        Ok(self.stream.set_read_timeout(Some(left))?)
    }

    /// Waits for a request, as long as a client may take for it.
    pub(super) fn head(&mut self) -> Result<Head, Unread> {
        self.until = Instant::now() + PATIENCE;
        let mut left = MOST_HEAD;
        let first = self.line(&mut left)?;
        let [method, path, version] = first.split(' ').collect::<Vec<_>>()[..] else {
            return Err(malformed("the first line is not METHOD PATH VERSION"));
        };
        if !matches!(version, "HTTP/1.1" | "HTTP/1.0") || !path.starts_with('/') {
            return Err(malformed("the first line is not of HTTP/1.1"));
        }
        let mut head = Head {
            method: method.to_owned(),
            path: path.to_owned(),
            host: None,
            origin: None,
            length: 0,
            is_chunked: false,
            keeps: version == "HTTP/1.1",
        };
        let mut length = None;
        loop {
            let header = self.line(&mut left)?;
            if header.is_empty() {
                break;
            }
            let (name, value) = header.split_once(':').ok_or_else(|| malformed("a header has no colon"))?;
            if name.is_empty() || name.contains(char::is_whitespace) {
                return Err(malformed("a header has no name, or blanks in it"));
            }
            let value = value.trim();
            match name.to_ascii_lowercase().as_str() {
                "host" => once(&mut head.host, "Host", value)?,
                "origin" => once(&mut head.origin, "Origin", value)?,
                "content-length" => once(&mut length, "Content-Length", value)?,
                "transfer-encoding" => head.is_chunked = true,
                "connection" if value.eq_ignore_ascii_case("close") => head.keeps = false,
                _ => {}
            }
        }
        if let Some(length) = length {
            let digits = !length.is_empty() && length.bytes().all(|byte| byte.is_ascii_digit());
            let parsed = length.parse().ok().filter(|_| digits);
            head.length = parsed.ok_or_else(|| malformed("Content-Length is not a number"))?;
        }
        Ok(head)
    }

    /// A line of the head without its end; `left` bytes may be read.
    fn line(&mut self, left: &mut usize) -> Result<String, Unread> {
        let mut line = vec![];
        loop {
            self.wait()?;
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                return Err(Unread::Silent);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            line.extend_from_slice(&bytes[..taken]);
            self.reader.consume(taken);
            *left = left
                .checked_sub(taken)
                .ok_or_else(|| Unread::Refused(Reply::error(431, "the head of the request is too long")))?;
            if end.is_some() {
                let text = String::from_utf8(line).map_err(|_| malformed("the request is not UTF-8"))?;
                return Ok(text.trim_end_matches(['\r', '\n']).to_owned());
            }
        }
    }

    /// The body of the request whose head was read last.
    pub(super) fn body(&mut self, length: usize) -> Result<Vec<u8>, Unread> {
        let mut body = vec![];
        while body.len() < length {
            self.wait()?;
            let mut part = vec![0; (length - body.len()).min(1 << 16)];
            let count = self.reader.read(&mut part)?;
            if count == 0 {
                return Err(Unread::Silent);
            }
            body.extend_from_slice(&part[..count]);
        }
        Ok(body)
    }

    /// Sends the last reply. What the client still sends is discarded for a while: a connection that is closed before that
    /// may take the reply with it.
    pub(super) fn last(mut self, reply: &Reply) {
        if self.reply(reply, false).is_err() || self.stream.shutdown(Shutdown::Write).is_err() {
            return;
        }
        self.until = Instant::now() + LINGER;
        while self.wait().is_ok() {
            match self.reader.fill_buf() {
                Ok(bytes) if !bytes.is_empty() => {
                    let count = bytes.len();
                    self.reader.consume(count);
                }
                _ => return,
            }
        }
    }

    /// Sends a reply.
    pub(super) fn reply(&self, reply: &Reply, keeps: bool) -> io::Result<()> {
        let reason = match reply.status {
            200 => "OK",
            400 => "Bad Request",
            403 => "Forbidden",
            404 => "Not Found",
            405 => "Method Not Allowed",
            413 => "Content Too Large",
            431 => "Request Header Fields Too Large",
            501 => "Not Implemented",
            503 => "Service Unavailable",
            _ => "Internal Server Error",
        };
        let connection = if keeps { "keep-alive" } else { "close" };
        let head = format!(
            "HTTP/1.1 {} {reason}\r\nContent-Type: {}\r\nContent-Length: {}\r\nConnection: {connection}\r\n\
             Cache-Control: no-store\r\nX-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n\
             Content-Security-Policy: default-src 'none'; script-src 'unsafe-inline'; style-src 'unsafe-inline'; \
             connect-src 'self'; img-src data: blob:; base-uri 'none'; form-action 'none'\r\n\r\n",
            reply.status,
            reply.kind,
            reply.body.len()
        );
        let mut stream = self.stream;
        stream.set_write_timeout(Some(PATIENCE))?;
        stream.write_all(&[head.as_bytes(), &reply.body].concat())?;
        stream.flush()
    }
}

/// Keeps the value of a header; one that is given twice says two things, and is refused.
fn once(kept: &mut Option<String>, name: &str, value: &str) -> Result<(), Unread> {
    match kept.replace(value.to_owned()) {
        None => Ok(()),
        Some(_) => Err(malformed(&format!("{name} is given twice"))),
    }
}
