//! The page over HTTP, for this machine alone.
//!
//! The server listens on the loopback address, on a port that the system chooses. Every address of it begins with a token that
//! nobody can guess, and `Host` must be its own: a page of somebody else's, which a browser on this machine has open, can
//! neither know the token nor reach the server under another name.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use crate::ask::LONGEST;
use crate::page::{Transport, page};

/// Bytes of a request before its body, at most.
const MOST_HEAD: usize = 16 << 10;
/// Connections at a time, at most.
const MOST_CONNECTIONS: usize = 64;
/// How long a client may take for a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long a connection stays open without one.
const IDLE: Duration = Duration::from_secs(60);

/// A server that runs until it is dropped.
#[derive(Debug)]
pub struct Server {
    address: String,
    shared: Arc<Shared>,
    port: u16,
    thread: Option<JoinHandle<()>>,
}

#[derive(Debug)]
struct Shared {
    token: String,
    /// The names under which it may be reached.
    hosts: [String; 2],
    stops: AtomicBool,
    connections: AtomicUsize,
}

impl Server {
    /// Starts on a port of the loopback address: one that is free, or `port`.
    pub fn start(port: Option<u16>) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0)))?;
        let port = listener.local_addr()?.port();
        let token = token();
        let shared = Arc::new(Shared {
            hosts: [format!("127.0.0.1:{port}"), format!("localhost:{port}")],
            token,
            stops: AtomicBool::new(false),
            connections: AtomicUsize::new(0),
        });
        let address = format!("http://127.0.0.1:{port}/{}/", shared.token);
        let own = Arc::clone(&shared);
        let thread =
            thread::Builder::new().name("explorer".to_owned()).spawn(move || accept(&listener, &own))?;
        Ok(Server { address, shared, port, thread: Some(thread) })
    }

    /// Where the page is, token included.
    pub fn address(&self) -> &str {
        &self.address
    }

    /// Serves until the process ends.
    pub fn wait(mut self) {
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.shared.stops.store(true, Ordering::Release);
        // wakes the thread that accepts
        _ = TcpStream::connect((Ipv4Addr::LOCALHOST, self.port));
        if let Some(thread) = self.thread.take() {
            _ = thread.join();
        }
    }
}

/// 128 bits that nobody can guess: hashes under keys that the standard library takes from the system's random numbers.
fn token() -> String {
    let half = |of: u64| {
        let mut hasher = RandomState::new().build_hasher();
        hasher.write_u64(of);
        hasher.finish()
    };
    format!("{:016x}{:016x}", half(1), half(2))
}

fn accept(listener: &TcpListener, shared: &Arc<Shared>) {
    for stream in listener.incoming() {
        if shared.stops.load(Ordering::Acquire) {
            return;
        }
        let Ok(stream) = stream else {
            thread::sleep(Duration::from_millis(10)); // no more files may be opened: some will be closed
            continue;
        };
        if shared.connections.fetch_add(1, Ordering::AcqRel) >= MOST_CONNECTIONS {
            shared.connections.fetch_sub(1, Ordering::AcqRel);
            _ = reply(&stream, &Reply::error(503, "too many connections"), false);
            continue;
        }
        let own = Arc::clone(shared);
        let started = thread::Builder::new().name("explorer connection".to_owned()).spawn(move || {
            _ = catch_unwind(AssertUnwindSafe(|| attend(&stream, &own)));
            own.connections.fetch_sub(1, Ordering::AcqRel);
        });
        if started.is_err() {
            shared.connections.fetch_sub(1, Ordering::AcqRel);
        }
    }
}

/// A request, as far as it is looked at.
struct Request {
    method: String,
    path: String,
    host: Option<String>,
    origin: Option<String>,
    body: Vec<u8>,
    keeps: bool,
}

/// A response.
struct Reply {
    status: u16,
    kind: &'static str,
    body: Vec<u8>,
}

impl Reply {
    fn error(status: u16, text: &str) -> Reply {
        Reply { status, kind: "text/plain; charset=utf-8", body: format!("{text}\n").into_bytes() }
    }
}

fn attend(stream: &TcpStream, shared: &Shared) {
    _ = stream.set_nodelay(true);
    let mut reader = BufReader::new(stream);
    loop {
        // waits for the first byte of a request as long as a connection may idle
        _ = stream.set_read_timeout(Some(IDLE));
        if !reader.fill_buf().is_ok_and(|bytes| !bytes.is_empty()) || shared.stops.load(Ordering::Acquire) {
            return;
        }
        let until = Instant::now() + PATIENCE;
        let (answer, keeps) = match read(&mut reader, stream, until) {
            Ok(request) => (answer(&request, shared), request.keeps),
            Err(Some(problem)) => (problem, false),
            Err(None) => return,
        };
        if reply(stream, &answer, keeps).is_err() || !keeps {
            return;
        }
    }
}

/// A line of the head without its end; an error is what to reply, or nothing where the client is gone or late.
fn line(
    reader: &mut BufReader<&TcpStream>,
    stream: &TcpStream,
    until: Instant,
    left: &mut usize,
) -> Result<String, Option<Reply>> {
    let mut line = vec![];
    loop {
        let patience =
            until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()).ok_or(None)?;
        _ = stream.set_read_timeout(Some(patience));
        let bytes = reader.fill_buf().map_err(|_| None)?;
        if bytes.is_empty() {
            return Err(None);
        }
        let end = bytes.iter().position(|byte| *byte == b'\n');
        let taken = end.map_or(bytes.len(), |end| end + 1);
        line.extend_from_slice(&bytes[..taken]);
        reader.consume(taken);
        *left = left
            .checked_sub(taken)
            .ok_or_else(|| Reply::error(431, "the head of the request is too long"))?;
        if end.is_some() {
            let text = String::from_utf8(line).map_err(|_| Reply::error(400, "the request is not UTF-8"))?;
            return Ok(text.trim_end_matches(['\r', '\n']).to_owned());
        }
    }
}

fn read(
    reader: &mut BufReader<&TcpStream>,
    stream: &TcpStream,
    until: Instant,
) -> Result<Request, Option<Reply>> {
    let malformed = |text: &str| Some(Reply::error(400, text));
    let mut left = MOST_HEAD;
    let first = line(reader, stream, until, &mut left)?;
    let [method, path, version] = first.split(' ').collect::<Vec<_>>()[..] else {
        return Err(malformed("the first line is not METHOD PATH VERSION"));
    };
    if !matches!(version, "HTTP/1.1" | "HTTP/1.0") || !path.starts_with('/') {
        return Err(malformed("the first line is not of HTTP/1.1"));
    }
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        host: None,
        origin: None,
        body: vec![],
        keeps: version == "HTTP/1.1",
    };
    let mut length: Option<usize> = None;
    loop {
        let header = line(reader, stream, until, &mut left)?;
        if header.is_empty() {
            break;
        }
        let (name, value) = header.split_once(':').ok_or_else(|| malformed("a header has no colon"))?;
        let value = value.trim();
        match name.to_ascii_lowercase().as_str() {
            "host" if request.host.is_some() => return Err(malformed("Host is given twice")),
            "host" => request.host = Some(value.to_owned()),
            "origin" => request.origin = Some(value.to_owned()),
            "content-length" if length.is_some() => return Err(malformed("Content-Length is given twice")),
            "content-length" => {
                let digits = !value.is_empty() && value.bytes().all(|byte| byte.is_ascii_digit());
                let parsed = value.parse().ok().filter(|_| digits);
                length = Some(parsed.ok_or_else(|| malformed("Content-Length is not a number"))?);
            }
            "transfer-encoding" => return Err(Some(Reply::error(501, "chunked bodies are not read"))),
            "connection" if value.eq_ignore_ascii_case("close") => request.keeps = false,
            _ => {}
        }
    }
    let length = length.unwrap_or(0);
    if length > LONGEST {
        return Err(Some(Reply::error(
            413,
            &format!("the body has {length} bytes; at most {LONGEST} are read"),
        )));
    }
    while request.body.len() < length {
        let patience =
            until.checked_duration_since(Instant::now()).filter(|left| !left.is_zero()).ok_or(None)?;
        _ = stream.set_read_timeout(Some(patience));
        let mut part = vec![0; (length - request.body.len()).min(1 << 16)];
        let count = reader.read(&mut part).map_err(|_| None)?;
        if count == 0 {
            return Err(None);
        }
        request.body.extend_from_slice(&part[..count]);
    }
    Ok(request)
}

/// Whether two texts are equal, in a time that does not say where they differ.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}

fn answer(request: &Request, shared: &Shared) -> Reply {
    let is_own = |host: &str| shared.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
    if !request.host.as_deref().is_some_and(is_own) {
        return Reply::error(403, "this server is not reached under that Host");
    }
    let foreign = |origin: &str| !origin.strip_prefix("http://").is_some_and(is_own);
    if request.origin.as_deref().is_some_and(foreign) {
        return Reply::error(403, "another site may not ask");
    }
    let path = request.path.split('?').next().unwrap_or_default();
    let (token, rest) = path[1..].split_once('/').unwrap_or((&path[1..], "none"));
    if !is_same(token, &shared.token) {
        return Reply::error(
            403,
            "the address has no valid token; open the one that `bitmma explore` printed",
        );
    }
    match (request.method.as_str(), rest) {
        ("GET", "") => Reply {
            status: 200,
            kind: "text/html; charset=utf-8",
            body: page(Transport::Server).into_bytes(),
        },
        ("POST", "ask") => {
            let question = String::from_utf8_lossy(&request.body);
            let answered = catch_unwind(AssertUnwindSafe(|| crate::ask(&question)));
            match answered {
                Ok(answer) => Reply { status: 200, kind: "application/json", body: answer.into_bytes() },
                Err(_) => Reply::error(500, "the question made the server fail"),
            }
        }
        (_, "" | "ask") => Reply::error(405, "GET the page, POST a question"),
        _ => Reply::error(404, "there is nothing here"),
    }
}

fn reply(mut stream: &TcpStream, reply: &Reply, keeps: bool) -> io::Result<()> {
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
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.write_all(&[head.as_bytes(), &reply.body].concat())?;
    stream.flush()
}
