//! The page over HTTP, for this machine alone.
//!
//! The server listens on the loopback address, on a port that the system chooses. Every address of it begins with a token that
//! nobody can guess, and `Host` must be its own: a page of somebody else's, which a browser on this machine has open, can
//! neither know the token nor reach the server under another name.

mod http;
mod open;

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::io;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use self::http::{Connection, Head, Reply, Unread};
use self::open::Open;
use crate::ask::LONGEST;
use crate::page::{Transport, page};

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
    hosts: Vec<String>,
    stops: AtomicBool,
    open: Open,
}

impl Server {
    /// Starts on a port of the loopback address: one that is free, or `port`.
    pub fn start(port: Option<u16>) -> io::Result<Server> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, port.unwrap_or(0)))
            .map_err(|error| io::Error::new(error.kind(), cannot_listen(port, &error)))?;
        let port = listener.local_addr()?.port();
        let token = token();
        let shared = Arc::new(Shared {
            hosts: hosts(port),
            token,
            stops: AtomicBool::new(false),
            open: Open::default(),
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

    /// Where the page shows a state, which may be empty: a copied link, or the part of it after `#`. Characters that would
    /// end an address are written as browsers write them.
    pub fn address_of(&self, state: &str) -> String {
        let fragment = state.rsplit_once('#').map_or(state, |(_, fragment)| fragment);
        let mut address = self.address.clone();
        if !fragment.is_empty() {
            address.push('#');
        }
        for letter in fragment.chars() {
            match letter {
                ' ' => address.push('+'),
                letter if letter.is_control() || letter.is_whitespace() || "\"<>`\\^{|}".contains(letter) => {
                    let mut bytes = [0; 4];
                    letter
                        .encode_utf8(&mut bytes)
                        .bytes()
                        .for_each(|byte| address += &format!("%{byte:02X}"));
                }
                letter => address.push(letter),
            }
        }
        address
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
        self.shared.open.close();
    }
}

/// The names under which browsers reach a port of the loopback address: they leave out that of HTTP itself.
pub fn hosts(port: u16) -> Vec<String> {
    let with_port = ["127.0.0.1", "localhost"].map(|name| format!("{name}:{port}"));
    let without = (port == 80).then(|| ["127.0.0.1".to_owned(), "localhost".to_owned()]);
    with_port.into_iter().chain(without.into_iter().flatten()).collect()
}

/// Why no server can start, and what to do about it.
fn cannot_listen(port: Option<u16>, error: &io::Error) -> String {
    let why = match error.kind() {
        io::ErrorKind::AddrInUse => "another program uses it".to_owned(),
        _ => error.to_string(),
    };
    match port {
        Some(port) => format!(
            "the explorer cannot listen on port {port}: {why}; choose another --port, or leave it out: the system then chooses one that is free"
        ),
        None => format!("the explorer cannot listen on the loopback address: {why}"),
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
        let stream = Arc::new(stream);
        let Some(number) = shared.open.enter(&stream) else {
            let refused = Reply::error(503, "too many questions at a time");
            _ = Connection::new(&stream).reply(&refused, false);
            continue;
        };
        let own = Arc::clone(shared);
        let started = thread::Builder::new().name("explorer connection".to_owned()).spawn(move || {
            _ = catch_unwind(AssertUnwindSafe(|| attend(Connection::new(&stream), number, &own)));
            own.open.leave(number);
        });
        if started.is_err() {
            shared.open.leave(number);
        }
    }
}

/// Replies to the requests of a connection. One that is refused is the last: its body is not read.
fn attend(mut connection: Connection<'_>, number: u64, shared: &Shared) {
    loop {
        let (wanted, head) = match connection.head().and_then(|head| Ok((admit(&head, shared)?, head))) {
            Ok(admitted) => admitted,
            Err(Unread::Refused(reply)) => return connection.last(&reply),
            Err(Unread::Silent) => return,
        };
        if !shared.open.asks(number, true) {
            return;
        }
        let Ok(body) = connection.body(head.length) else { return };
        let reply = answer(&wanted, &body);
        if !head.keeps {
            return connection.last(&reply);
        }
        if connection.reply(&reply, true).is_err() || !shared.open.asks(number, false) {
            return;
        }
    }
}

/// Whether two texts are equal, in a time that does not say where they differ.
fn is_same(one: &str, other: &str) -> bool {
    one.len() == other.len() && one.bytes().zip(other.bytes()).fold(0, |sum, (x, y)| sum | (x ^ y)) == 0
}

/// What may be had here.
enum Wanted {
    Page,
    Answer,
}

/// What a request wants; one that is not from the page itself is refused.
fn admit(head: &Head, shared: &Shared) -> Result<Wanted, Unread> {
    let refused = |status, text: &str| Err(Unread::Refused(Reply::error(status, text)));
    let is_own = |host: &str| shared.hosts.iter().any(|own| own.eq_ignore_ascii_case(host));
    if !head.host.as_deref().is_some_and(is_own) {
        return refused(403, "this server is not reached under that Host");
    }
    let foreign = |origin: &str| !origin.strip_prefix("http://").is_some_and(is_own);
    if head.origin.as_deref().is_some_and(foreign) {
        return refused(403, "another site may not ask");
    }
    let path = head.path.split('?').next().unwrap_or_default();
    let (token, rest) = path[1..].split_once('/').unwrap_or((&path[1..], "none"));
    if !is_same(token, &shared.token) {
        return refused(403, "the address has no valid token; open the one that `bitmma explore` printed");
    }
    if head.is_chunked {
        return refused(501, "chunked bodies are not read");
    }
    if head.length > LONGEST {
        let text = format!("the body has {} bytes; at most {LONGEST} are read", head.length);
        return refused(413, &text);
    }
    match (head.method.as_str(), rest) {
        ("GET", "") => Ok(Wanted::Page),
        ("POST", "ask") => Ok(Wanted::Answer),
        (_, "" | "ask") => refused(405, "GET the page, POST a question"),
        _ => refused(404, "there is nothing here"),
    }
}

fn answer(wanted: &Wanted, body: &[u8]) -> Reply {
    match wanted {
        Wanted::Page => Reply {
            status: 200,
            kind: "text/html; charset=utf-8",
            body: page(Transport::Server).into_bytes(),
        },
        Wanted::Answer => {
            let question = String::from_utf8_lossy(body);
            match catch_unwind(AssertUnwindSafe(|| crate::ask(&question))) {
                Ok(answer) => Reply { status: 200, kind: "application/json", body: answer.into_bytes() },
                Err(_) => Reply::error(500, "the question made the server fail"),
            }
        }
    }
}
