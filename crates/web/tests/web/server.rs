//! The server: what it refuses, that it stays on this machine, and that nothing malformed stops it.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpStream, UdpSocket};
use std::time::Duration;

use bitmma_web::serve::{Server, hosts};

fn parts(server: &Server) -> (u16, String) {
    let rest = server.address().strip_prefix("http://127.0.0.1:").expect("it is on the loopback address");
    let (port, token) = rest.split_once('/').expect("a token follows");
    (port.parse().expect("a port"), token.trim_end_matches('/').to_owned())
}

/// What the server replies to some bytes; empty where it says nothing.
fn sent(port: u16, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
    _ = stream.write_all(bytes); // it may have hung up before the end
    _ = stream.shutdown(std::net::Shutdown::Write);
    let mut reply = vec![];
    _ = stream.read_to_end(&mut reply);
    String::from_utf8_lossy(&reply).into_owned()
}

fn status(reply: &str) -> u16 {
    reply
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or_else(|| panic!("no status: {reply}"))
}

fn get(path: &str, host: &str) -> Vec<u8> {
    format!("GET {path} HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}

fn post(path: &str, host: &str, more: &str, body: &str) -> Vec<u8> {
    format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: {}\r\n\r\n{body}", body.len())
        .into_bytes()
}

#[test]
fn the_page_and_answers_come_with_the_token_only() {
    let server = Server::start(None).expect("a port is free");
    let (port, token) = parts(&server);
    let host = format!("127.0.0.1:{port}");
    assert_eq!(token.len(), 32);
    let page = sent(port, &get(&format!("/{token}/"), &host));
    assert_eq!(status(&page), 200);
    assert!(
        page.contains("<title>bitmma explorer</title>")
            && page.contains("Content-Security-Policy: default-src 'none'")
    );
    assert_eq!(status(&sent(port, &get(&format!("/{token}/"), &format!("localhost:{port}")))), 200);
    let question = r#"{"ask":"code","format":"f16","code":"0x3c00"}"#;
    let answer = sent(port, &post(&format!("/{token}/ask"), &host, "", question));
    assert!(answer.ends_with(&bitmma_web::ask(question)), "{answer}");

    let other = Server::start(None).expect("a port is free");
    let (_, foreign) = parts(&other);
    assert_ne!(foreign, token);
    for path in [
        "/",
        "/ask",
        "/favicon.ico",
        "//",
        "/x/ask",
        &format!("/{foreign}/"),
        &format!("/{}/", &token[..31]),
        &format!("/{token}x/"),
        &format!("/{token}"),
    ] {
        let wanted = if path == format!("/{token}") { 404 } else { 403 };
        assert_eq!(status(&sent(port, &get(path, &host))), wanted, "{path}");
        assert_eq!(status(&sent(port, &post(path, &host, "", question))), wanted, "{path}");
    }
    assert_eq!(status(&sent(port, &get(&format!("/{token}/other"), &host))), 404);
    assert_eq!(status(&sent(port, &post(&format!("/{token}/"), &host, "", question))), 405);
}

#[test]
fn a_foreign_host_or_site_is_refused() {
    let server = Server::start(None).expect("a port is free");
    let (port, token) = parts(&server);
    let own = format!("127.0.0.1:{port}");
    for host in [
        "example.org",
        "127.0.0.1",
        &format!("example.org:{port}"),
        &format!("127.0.0.1:{}", port ^ 1),
        "",
        &format!("127.0.0.1:{port}.example.org"),
    ] {
        assert_eq!(status(&sent(port, &get(&format!("/{token}/"), host))), 403, "{host}");
    }
    let without = format!("GET /{token}/ HTTP/1.1\r\n\r\n");
    assert_eq!(status(&sent(port, without.as_bytes())), 403);
    let ask = format!("/{token}/ask");
    for origin in [
        "http://example.org",
        "null",
        "https://example.org",
        &format!("http://example.org:{port}"),
        &format!("https://{own}"),
    ] {
        let request = post(&ask, &own, &format!("Origin: {origin}\r\n"), "{\"ask\":\"start\"}");
        assert_eq!(status(&sent(port, &request)), 403, "{origin}");
    }
    let request = post(&ask, &own, &format!("Origin: http://{own}\r\n"), "{\"ask\":\"start\"}");
    assert_eq!(status(&sent(port, &request)), 200);
}

#[test]
fn a_header_that_is_given_twice_is_refused() {
    let server = Server::start(None).expect("a port is free");
    let (port, token) = parts(&server);
    let (own, question) = (format!("127.0.0.1:{port}"), "{\"ask\":\"start\"}");
    let length = question.len().to_string();
    let origin = format!("http://{own}");
    for (name, values) in [
        ("Host", [own.as_str(), "example.org"]),
        ("Origin", [&origin, "http://example.org"]),
        ("Content-Length", [&length, "0"]),
    ] {
        for [first, second] in [values, [values[1], values[0]], [values[0], values[0]]] {
            let mut head = format!(
                "POST /{token}/ask HTTP/1.1\r\n{name}: {first}\r\n{}: {second}\r\n",
                name.to_lowercase()
            );
            for (other, value) in [("Host", &own), ("Content-Length", &length)] {
                if other != name {
                    head += &format!("{other}: {value}\r\n");
                }
            }
            let reply = sent(port, format!("{head}\r\n{question}").as_bytes());
            assert_eq!(status(&reply), 400, "{head}");
            assert!(reply.contains(&format!("{name} is given twice")), "{reply}");
        }
    }
    for header in ["Host : example.org", " Host: example.org", ": x"] {
        let head = format!("GET /{token}/ HTTP/1.1\r\nHost: {own}\r\n{header}\r\n\r\n");
        assert_eq!(status(&sent(port, head.as_bytes())), 400, "{header}");
    }
}

#[test]
fn the_port_of_http_is_left_out_of_host() {
    assert_eq!(hosts(8080), ["127.0.0.1:8080", "localhost:8080"]);
    assert_eq!(hosts(80), ["127.0.0.1:80", "localhost:80", "127.0.0.1", "localhost"]);
    match Server::start(Some(80)) {
        Ok(server) => {
            let (port, token) = parts(&server);
            assert_eq!(status(&sent(port, &get(&format!("/{token}/"), "127.0.0.1"))), 200);
            let request = post(
                &format!("/{token}/ask"),
                "localhost",
                "Origin: http://localhost\r\n",
                "{\"ask\":\"start\"}",
            );
            assert_eq!(status(&sent(port, &request)), 200);
        }
        Err(error) => eprintln!("skipped: port 80 may not be opened: {error}"),
    }
}

#[test]
fn a_port_that_is_used_is_named() {
    let server = Server::start(None).expect("a port is free");
    let (port, _) = parts(&server);
    let error = Server::start(Some(port)).expect_err("the port is used");
    assert_eq!(error.kind(), std::io::ErrorKind::AddrInUse);
    let text = error.to_string();
    assert!(text.contains(&format!("port {port}: another program uses it; choose another --port")), "{text}");
}

#[test]
fn a_state_is_one_line_of_an_address() {
    let server = Server::start(None).expect("a port is free");
    assert_eq!(server.address_of(""), server.address());
    for (state, fragment) in [
        ("u=h100 wgmma f16 f32&a=1", "u=h100+wgmma+f16+f32&a=1"),
        ("http://127.0.0.1:1/x/#u=h100&a=1%2B2", "u=h100&a=1%2B2"),
        ("a=1\n2\r\n3\t4\u{2028}", "a=1%0A2%0D%0A3%094%E2%80%A8"),
        ("a=\"<x>`", "a=%22%3Cx%3E%60"),
        ("a=−1", "a=−1"),
    ] {
        assert_eq!(server.address_of(state), format!("{}#{fragment}", server.address()));
    }
}

/// What the server replies to the head of a request whose body never comes.
fn replied(port: u16, head: &str) -> String {
    let mut stream = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    stream.write_all(head.as_bytes()).expect("the head is sent");
    let mut reply = String::new();
    stream.read_to_string(&mut reply).expect("the reply ends");
    reply
}

#[test]
fn what_is_refused_is_refused_before_its_body_comes() {
    let server = Server::start(None).expect("a port is free");
    let (port, token) = parts(&server);
    let (own, path) = (format!("127.0.0.1:{port}"), format!("/{token}/ask"));
    for (path, host, more, length, wanted) in [
        ("/x/ask", own.as_str(), "", 1_000, 403),
        (path.as_str(), "example.org", "", 1_000, 403),
        (&path, &own, "Origin: http://example.org\r\n", 1_000, 403),
        ("/x/ask", &own, "", 1_u64 << 40, 403),
        (&path, &own, "", 1 << 40, 413),
        (&format!("/{token}/other"), &own, "", 1_000, 404),
        (&format!("/{token}/"), &own, "", 1_000, 405),
    ] {
        let head = format!("POST {path} HTTP/1.1\r\nHost: {host}\r\n{more}Content-Length: {length}\r\n\r\n");
        assert_eq!(status(&replied(port, &head)), wanted, "{head}");
    }
    // a client that sends all of it first reads the reply, too
    assert_eq!(status(&sent(port, &post("/x/ask", &own, "", &"[".repeat(4 << 20)))), 403);
}

#[test]
fn silent_connections_make_room() {
    let server = Server::start(None).expect("a port is free");
    let (port, token) = parts(&server);
    let host = format!("127.0.0.1:{port}");
    let question = "{\"ask\":\"start\"}";
    let asking = post(&format!("/{token}/ask"), &host, "", question);
    let mut own = BufReader::new(TcpStream::connect(("127.0.0.1", port)).expect("it listens"));
    let mut ask = || {
        own.get_mut().write_all(&asking).expect("it is open");
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert!(own.read_line(&mut head).expect("it is open") > 0, "closed after {head:?}");
        }
        let mut body = vec![0; bitmma_web::ask(question).len()];
        own.read_exact(&mut body).expect("it is open");
        assert_eq!(String::from_utf8_lossy(&body), bitmma_web::ask(question));
    };
    ask();
    let mut silent: Vec<TcpStream> =
        (0..200).map(|_| TcpStream::connect(("127.0.0.1", port)).expect("it listens")).collect();
    for stream in &mut silent[100..150] {
        stream.write_all(b"GET / HTTP/1.1\r\nHo").expect("it is open"); // a head that does not end is silent, too
    }
    assert_eq!(status(&sent(port, &get(&format!("/{token}/"), &host))), 200);
    assert!(sent(port, &asking).ends_with(&bitmma_web::ask(question)));
    ask(); // a connection that has asked before is kept
    let mut byte = [0];
    assert_eq!(silent[0].read(&mut byte).expect("it is closed in order"), 0); // the oldest is closed
}

#[test]
fn nobody_reaches_it_from_elsewhere() {
    let server = Server::start(None).expect("a port is free");
    let (port, _) = parts(&server);
    // the address that this machine has towards others; no packet is sent
    let socket = UdpSocket::bind("0.0.0.0:0").expect("a socket");
    let outside = socket
        .connect("192.0.2.1:9")
        .ok()
        .and_then(|()| socket.local_addr().ok())
        .map(|address| address.ip());
    match outside.filter(|address| !address.is_loopback()) {
        Some(address) => assert!(
            TcpStream::connect_timeout(&(address, port).into(), Duration::from_secs(2)).is_err(),
            "{address}"
        ),
        None => eprintln!("skipped: this machine has the loopback address alone"),
    }
}

/// A small generator, so that every run sends the same.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
        self.0 >> 33
    }
}

#[test]
fn a_thousand_malformed_requests() {
    let server = Server::start(None).expect("a port is free");
    let (port, token) = parts(&server);
    let host = format!("127.0.0.1:{port}");
    let question = r#"{"ask":"explain","units":[{"unit":"h100 wgmma f16 f32"}],"input":{"a":"1","b":"1"}}"#;
    let good = post(&format!("/{token}/ask"), &host, "", question);
    let mut random = Random(59);
    for index in 0..1_000 {
        let mut bytes = good.clone();
        match index % 8 {
            0 => bytes.truncate(random.next() as usize % bytes.len()),
            1 => bytes = (0..random.next() % 400).map(|_| random.next() as u8).collect(),
            2 => bytes = format!("GET /{} HTTP/1.1\r\nHost: {host}\r\n\r\n", "a".repeat(20_000)).into_bytes(),
            3 => bytes = format!("POST /{token}/ask HTTP/1.1\r\nHost: {host}\r\nContent-Length: {}\r\n\r\n", u64::MAX - random.next()).into_bytes(),
            4 => bytes = format!("POST /{token}/ask HTTP/1.1\r\nHost: {host}\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n").into_bytes(),
            5 => bytes = post(&format!("/{token}/ask"), &host, "", &"[".repeat(1 + random.next() as usize % 3_000)),
            _ => {
                for _ in 0..1 + random.next() % 6 {
                    let at = random.next() as usize % bytes.len();
                    bytes[at] = random.next() as u8;
                }
            }
        }
        sent(port, &bytes);
    }
    let answer = sent(port, &good);
    assert!(answer.ends_with(&bitmma_web::ask(question)), "{answer}");
}

#[test]
fn a_server_that_is_dropped_listens_no_more() {
    let server = Server::start(None).expect("a port is free");
    let (port, _) = parts(&server);
    let mut idle = TcpStream::connect(("127.0.0.1", port)).expect("it listens");
    idle.set_read_timeout(Some(Duration::from_secs(5))).expect("a timeout");
    drop(server);
    assert_eq!(idle.read(&mut [0]).unwrap_or(0), 0);
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());
}
