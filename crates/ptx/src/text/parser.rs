//! Tokens into a [`Module`].

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use bitmma_engine::formats::{F32, F64};
use bitmma_functions::convert::{Modifiers, convert};

use super::lexer::{Kind, Token};
use super::{
    Base, Formal, Function, Instruction, Module, Operand, Parameter, Passed, Read, Register, RegisterId,
    Space, UPPER_HALF, Variable, Width,
};
use crate::error::Error;
use crate::matrix::LANES;

/// Bytes of a parameter, at most: as many as all those of an entry have (CUDA C++ Programming Guide, from CUDA 12.1 on).
const MOST_PARAMETERS: u64 = 32_764;

/// Registers that one function may name, lists of operands in each other, and bytes of a variable: far beyond what compilers
/// print.
const MOST_REGISTERS: usize = 1 << 20;
const MOST_NESTING: usize = 8;
const MOST_BYTES: u64 = 1 << 32;
/// A constant: the threads of a warp.
const WARP_SIZE: &str = "WARP_SZ";

pub(super) struct Parser {
    tokens: Vec<Token>,
    at: usize,
    /// Lists of operands that are open.
    nesting: usize,
    /// As [`Module::remarks`].
    remarks: Vec<Range<usize>>,
    /// Whether a pragma of the whole text forbids to unroll.
    rolled: bool,
}

/// The names of one pair of braces.
#[derive(Default)]
struct Scope {
    parent: Option<usize>,
    registers: HashMap<String, RegisterId>,
    /// `%r<10>`: how many, and their width.
    ranges: HashMap<String, (u64, Kept)>,
    labels: HashMap<String, usize>,
    /// Names of labels, by the name of their table.
    tables: HashMap<String, Vec<String>>,
    /// What is passed to functions, by its name in the text.
    passed: HashMap<String, String>,
}

/// How registers of a type are held: those of 128 bits are pairs of 64.
#[derive(Clone, Copy)]
enum Kept {
    One(Width),
    Pair,
}

/// A function that is being read.
#[derive(Default)]
struct Body {
    function: Function,
    scopes: Vec<Scope>,
    scope: usize,
    /// Instructions that branch, each with its scope.
    branches: Vec<(usize, usize)>,
    /// Lower halves of registers of 128 bits.
    pairs: HashSet<RegisterId>,
    /// What the last `.loc` says.
    source: [u32; 2],
}

impl Parser {
    pub(super) fn new(tokens: Vec<Token>) -> Parser {
        Parser { tokens, at: 0, nesting: 0, remarks: vec![], rolled: false }
    }

    fn line(&self) -> u32 {
        let token = self.tokens.get(self.at).or(self.tokens.last());
        token.map_or(1, |token| token.line)
    }

    fn error(&self, what: impl Into<String>) -> Error {
        Error::syntax(self.line(), what)
    }

    fn peek(&self) -> Option<&Kind> {
        self.tokens.get(self.at).map(|token| &token.kind)
    }

    fn next(&mut self) -> Result<Kind, Error> {
        let kind = self.peek().cloned().ok_or_else(|| self.error("the text ends too early"))?;
        self.at += 1;
        Ok(kind)
    }

    fn is(&self, mark: char) -> bool {
        self.peek() == Some(&Kind::Mark(mark))
    }

    /// Whether the next token is this mark, which is then passed.
    fn take(&mut self, mark: char) -> bool {
        let found = self.is(mark);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, mark: char) -> Result<(), Error> {
        match self.take(mark) {
            true => Ok(()),
            false => Err(self.error(format!("expected '{mark}', found {}", self.found()))),
        }
    }

    fn found(&self) -> String {
        match self.peek() {
            None => "the end of the text".to_owned(),
            Some(Kind::Word(word)) => format!("'{word}'"),
            Some(Kind::Mark(mark)) => format!("'{mark}'"),
            Some(Kind::Text(text)) => format!("\"{text}\""),
            Some(Kind::Integer(value)) => format!("'{value}'"),
            Some(Kind::Single(_) | Kind::Double(_)) => "a number".to_owned(),
        }
    }

    fn word(&mut self) -> Result<String, Error> {
        match self.peek() {
            Some(Kind::Word(word)) => {
                let word = word.clone();
                self.at += 1;
                Ok(word)
            }
            _ => Err(self.error(format!("expected a name, found {}", self.found()))),
        }
    }

    fn integer(&mut self) -> Result<u64, Error> {
        let negative = self.take('-');
        match self.next()? {
            Kind::Integer(value) => Ok(if negative { value.wrapping_neg() } else { value }),
            Kind::Word(word) if word == WARP_SIZE => {
                Ok(if negative { (LANES as u64).wrapping_neg() } else { LANES as u64 })
            }
            _ => {
                self.at -= 1;
                Err(self.error(format!("expected an integer, found {}", self.found())))
            }
        }
    }

    /// Passes everything up to this mark.
    fn skip_past(&mut self, mark: char) -> Result<(), Error> {
        while self.next()? != Kind::Mark(mark) {}
        Ok(())
    }

    /// Passes a pragma. Whether it is one against unrolling.
    fn pragma(&mut self) -> Result<bool, Error> {
        let mut rolled = false;
        loop {
            match self.next()? {
                Kind::Text(text) => rolled |= text == "nounroll",
                Kind::Mark(';') => return Ok(rolled),
                _ => {}
            }
        }
    }

    /// Passes the rest of the line of the token before.
    fn skip_line(&mut self) {
        let line = self.tokens[self.at - 1].line;
        while self.tokens.get(self.at).is_some_and(|token| token.line == line) {
            self.at += 1;
        }
    }

    /// Passes a block in braces, whose first brace is next.
    fn skip_block(&mut self) -> Result<(), Error> {
        self.expect('{')?;
        let mut depth = 1;
        while depth > 0 {
            match self.next()? {
                Kind::Mark('{') => depth += 1,
                Kind::Mark('}') => depth -= 1,
                _ => {}
            }
        }
        Ok(())
    }

    pub(super) fn module(mut self) -> Result<Module, Error> {
        let mut module = Module::default();
        let mut first = 0;
        while self.peek().is_some() {
            let at = self.at;
            let word = self.word()?;
            match word.as_str() {
                ".visible" | ".extern" | ".weak" | ".common" | ".internal" => continue,
                ".version" => module.version = self.version()?,
                ".target" => {
                    module.target = self.word()?;
                    while self.take(',') {
                        self.word()?;
                    }
                }
                ".address_size" => {
                    let bits = self.integer()?;
                    if bits != 64 {
                        return Err(
                            self.error(format!("addresses of {bits} bits are not supported, only 64"))
                        );
                    }
                }
                ".entry" => match self.read_entry()? {
                    Ok(mut entry) => {
                        if module.entries.iter().any(|other| other.name == entry.name) {
                            return Err(self.error(format!("entry '{}' is declared twice", entry.name)));
                        }
                        entry.bytes = self.bytes_since(first);
                        module.entries.push(entry);
                    }
                    Err(refused) => {
                        module.refused.push(refused);
                        self.remarks.push(self.bytes_since(first));
                    }
                },
                ".func" => {
                    if let Some((name, function)) = self.function()? {
                        module.functions.insert(name, function);
                    }
                    module.helpers.push(self.bytes_since(first));
                }
                ".file" | ".loc" => {
                    self.skip_line();
                    self.remarks.push(self.bytes_since(at));
                }
                ".pragma" => self.rolled |= self.pragma()?,
                ".alias" => self.skip_past(';')?,
                ".section" => {
                    self.word()?;
                    self.skip_block()?;
                    self.remarks.push(self.bytes_since(at));
                }
                ".global" | ".const" | ".shared" => {
                    let space = space_of(&word);
                    let variables = self.variables(space)?;
                    module.variables.extend(variables);
                }
                _ => {
                    self.at -= 1;
                    return Err(self.error(format!("'{word}' is not known here")));
                }
            }
            first = self.at;
        }
        module.remarks = self.remarks;
        match module.refused.pop() {
            Some((_, line, what)) if module.entries.is_empty() && module.refused.is_empty() => {
                Err(Error::syntax(line, what))
            }
            last => {
                module.refused.extend(last);
                Ok(module)
            }
        }
    }

    /// Bytes of the text from a token to the one before this.
    fn bytes_since(&self, first: usize) -> Range<usize> {
        self.tokens[first].bytes.start..self.tokens[self.at - 1].bytes.end
    }

    fn version(&mut self) -> Result<String, Error> {
        match self.next()? {
            Kind::Double(bits) => Ok(f64::from_bits(bits).to_string()),
            Kind::Integer(value) => Ok(value.to_string()),
            _ => Err(self.error("expected a version")),
        }
    }

    /// A device function with its name; none where it is only declared.
    fn function(&mut self) -> Result<Option<(String, Read)>, Error> {
        let (first, remarks) = (self.at, self.remarks.len());
        let mut body = Body::new(self.line());
        let read = self.formals(&mut body).and_then(|()| self.function_body(body));
        let end = self.at;
        // what is not understood is passed over: it matters only where it is called
        self.at = first;
        if self.is('(') {
            self.skip_past(')')?;
        }
        let name = self.word()?;
        while !self.is('{') && !self.is(';') {
            self.next()?;
        }
        match read {
            _ if self.take(';') => Ok(None),
            Ok(function) => {
                self.at = end;
                Ok(Some((name, Ok(function))))
            }
            Err(error) => {
                self.remarks.truncate(remarks);
                self.skip_block()?;
                let Error::Syntax { line, what } = error else { return Err(error) };
                Ok(Some((name, Err((line, what)))))
            }
        }
    }

    /// `(.param .b32 result) name (.param .b64 a, .reg .f32 b)` and what follows up to the body.
    fn formals(&mut self, body: &mut Body) -> Result<(), Error> {
        for list in 0..2 {
            if self.take('(') {
                while !self.take(')') {
                    let formal = self.formal(body)?;
                    body.function.formals[list].push(formal);
                    self.take(',');
                }
            }
            if list == 0 {
                body.function.name = self.word()?;
            }
        }
        while !self.is('{') && !self.is(';') {
            self.next()?;
        }
        Ok(())
    }

    fn formal(&mut self, body: &mut Body) -> Result<Formal, Error> {
        if self.peek() == Some(&Kind::Word(".reg".to_owned())) {
            self.at += 1;
            let kept = self.kept()?;
            let name = self.word()?;
            if matches!(kept, Kept::Pair) {
                return Err(self.error("registers of 128 bits are not passed to functions"));
            }
            let id = body.declare(&name, kept).ok_or_else(|| self.error("too many registers"))?;
            body.scopes[body.scope].registers.insert(name, id);
            return Ok(Formal::Register(id));
        }
        Ok(Formal::Passed(self.passed(body)?))
    }

    /// A variable for what is passed to a function: its name that no other has.
    fn passed(&mut self, body: &mut Body) -> Result<String, Error> {
        let Parameter { name, bytes, align, .. } = self.parameter()?;
        let unique = format!("{name}#{}", body.function.passed.len());
        body.scopes[body.scope].passed.insert(name, unique.clone());
        body.function.passed.push(Passed { name: unique.clone(), bytes, align });
        Ok(unique)
    }

    /// Variables of one declaration, after its space: `.align 16 .b8 name[64] = {1, 2}, other;`
    fn variables(&mut self, space: Space) -> Result<Vec<Variable>, Error> {
        let (mut align, mut kind, mut vector) = (None, None, 1);
        let mut variables = vec![];
        loop {
            let word = self.word()?;
            match word.as_str() {
                ".align" => align = Some(self.power_of_two()?),
                // memory that the host sees, too, is memory here
                ".attribute" => self.skip_past(')')?,
                ".ptr" => return Err(self.error("'.ptr' of a variable is not supported")),
                ".v2" => vector = 2,
                ".v4" => vector = 4,
                _ if word.starts_with('.') => {
                    let bytes =
                        bytes_of(&word[1..]).ok_or_else(|| self.error(format!("unknown type '{word}'")))?;
                    kind = Some((word[1..].to_owned(), bytes));
                }
                _ => {
                    self.at -= 1;
                    break;
                }
            }
        }
        let (kind, scalar) = kind.ok_or_else(|| self.error("the variable has no type"))?;
        let element = scalar * vector;
        loop {
            let (line, name) = (self.line(), self.word()?);
            let mut count = Some(1u64);
            while self.take('[') {
                if self.take(']') {
                    count = None;
                    continue;
                }
                let length = self.integer()?;
                count = count.and_then(|count| count.checked_mul(length));
                self.expect(']')?;
            }
            let bytes = count.map(|count| count.saturating_mul(element));
            if bytes.is_some_and(|bytes| bytes > MOST_BYTES) {
                return Err(Error::syntax(line, format!("'{name}' is larger than {MOST_BYTES} bytes")));
            }
            let initial = match self.take('=').then(|| self.initial(&kind, scalar as usize)) {
                None => Ok(vec![]),
                Some(Ok(initial)) => Ok(initial),
                Some(Err(Error::Syntax { line, what })) => {
                    // it matters only to an entry that names the variable
                    while !self.is(';') {
                        self.next()?;
                    }
                    Err((line, what))
                }
                Some(Err(error)) => return Err(error),
            };
            let values = initial.as_ref().map_or(0, |initial| initial.len() as u64);
            let bytes = bytes.or((values > 0).then_some(values));
            if bytes.is_some_and(|bytes| values > bytes) {
                return Err(Error::syntax(line, format!("'{name}' has more initial values than room")));
            }
            variables.push(Variable { name, space, align: align.unwrap_or(element), bytes, initial });
            if !self.take(',') {
                self.expect(';')?;
                return Ok(variables);
            }
        }
    }

    fn power_of_two(&mut self) -> Result<u64, Error> {
        let value = self.integer()?;
        match value.is_power_of_two() && value <= 4096 {
            true => Ok(value),
            false => Err(self.error(format!("an alignment must be a power of two up to 4096, not {value}"))),
        }
    }

    /// Initial values of a type, each in that many bytes.
    fn initial(&mut self, kind: &str, bytes: usize) -> Result<Vec<u8>, Error> {
        let mut values = vec![];
        let mut depth = 0;
        loop {
            match self.peek() {
                Some(Kind::Mark('{')) => {
                    depth += 1;
                    self.at += 1;
                }
                Some(Kind::Mark('}')) => {
                    depth -= 1;
                    self.at += 1;
                }
                Some(Kind::Mark(',')) if depth > 0 => self.at += 1,
                _ => {
                    let code = self.initial_value(kind)?;
                    let end = values.len() + bytes;
                    values.extend_from_slice(&code.to_le_bytes()[..bytes.min(8)]);
                    values.resize(end, 0);
                }
            }
            if depth == 0 {
                return Ok(values);
            }
        }
    }

    /// The bits of one: of a type of floats, and of bits as wide as one, a number is rounded to it.
    fn initial_value(&mut self, kind: &str) -> Result<u64, Error> {
        let first = self.at;
        let negative = self.take('-');
        let (code, sign) = match (self.peek(), kind) {
            (Some(Kind::Integer(_)), _) if !kind.starts_with('f') => {
                self.at = first;
                return self.integer();
            }
            (Some(Kind::Single(bits)), "f32" | "b32") => (u64::from(*bits), 1 << 31),
            (Some(Kind::Double(bits)), "f32" | "b32") => {
                (u64::from((f64::from_bits(*bits) as f32).to_bits()), 1 << 31)
            }
            // as ptxas does, which does not convert them
            (Some(Kind::Single(bits)), "f64" | "b64") if !negative => (u64::from(*bits), 0),
            (Some(Kind::Double(bits)), "f64" | "b64") => (*bits, 1 << 63),
            _ => {
                self.at = first;
                let what = format!("{} as an initial value of type {kind} is not supported", self.found());
                return Err(self.error(what));
            }
        };
        self.at += 1;
        Ok(if negative { code ^ sign } else { code })
    }

    /// An entry; its name and why where it is not understood, which matters only if it is asked for.
    fn read_entry(&mut self) -> Result<Result<Function, (String, u32, String)>, Error> {
        let (first, remarks) = (self.at, self.remarks.len());
        let (line, what) = match self.entry() {
            Ok(entry) => return Ok(Ok(entry)),
            Err(Error::Syntax { line, what }) => (line, what),
            Err(error) => return Err(error),
        };
        self.at = first;
        self.remarks.truncate(remarks);
        let passed = self.word().and_then(|name| {
            while !self.is('{') {
                self.next()?;
            }
            self.skip_block().map(|()| name)
        });
        // one that does not end is no entry
        passed.map(|name| Err((name, line, what.clone()))).map_err(|_| Error::syntax(line, what))
    }

    fn entry(&mut self) -> Result<Function, Error> {
        let mut body = Body::new(self.line());
        body.function.name = self.word()?;
        let (mut rolled, mut counts_clusters) = (self.rolled, false);
        if self.take('(') {
            while !self.take(')') {
                let parameter = self.parameter()?;
                body.function.parameters.push(parameter);
                self.take(',');
            }
        }
        while !self.is('{') {
            let word = self.word()?;
            match word.as_str() {
                ".reqntid" => body.function.required_block = Some(self.dimensions()?),
                ".maxntid" => body.function.largest_block = Some(self.dimensions()?),
                ".minnctapersm" | ".maxnreg" => drop(self.integer()?),
                ".maxclusterrank" => {
                    let most = self.integer()?;
                    let most = u32::try_from(most).map_err(|_| self.error(format!("{most} is too large")))?;
                    body.function.cluster.most = Some(most);
                }
                ".noreturn" => {}
                ".explicitcluster" => body.function.cluster.explicit = true,
                ".blocksareclusters" => counts_clusters = true,
                ".reqnctapercluster" => body.function.cluster.required = Some(self.dimensions()?),
                ".pragma" => rolled |= self.pragma()?,
                _ => return Err(self.error(format!("'{word}' of an entry is not known"))),
            }
        }
        if counts_clusters && body.function.cluster.required.is_some_and(|sizes| sizes != [1; 3]) {
            return Err(self.error(".blocksareclusters is not supported: the grid of a launch counts blocks"));
        }
        let mut function = self.function_body(body)?;
        if rolled {
            function.rolled = (0..function.instructions.len()).collect();
        }
        Ok(function)
    }

    fn function_body(&mut self, mut body: Body) -> Result<Function, Error> {
        self.expect('{')?;
        let mut depth = 1;
        while depth > 0 {
            self.statement(&mut body, &mut depth)?;
        }
        body.finish()
    }

    fn dimensions(&mut self) -> Result<[u32; 3], Error> {
        let mut sizes = [1; 3];
        for index in 0..3 {
            let size = self.integer()?;
            sizes[index] = u32::try_from(size).map_err(|_| self.error(format!("{size} is too large")))?;
            if !self.take(',') {
                break;
            }
        }
        Ok(sizes)
    }

    fn parameter(&mut self) -> Result<Parameter, Error> {
        let (mut align, mut kind, mut pointer) = (None, None, false);
        loop {
            let word = self.word()?;
            match word.as_str() {
                ".param" => {}
                ".ptr" => pointer = true,
                ".global" | ".const" | ".shared" | ".local" => {}
                ".align" => align = Some(self.power_of_two()?),
                _ if word.starts_with('.') => kind = Some(word[1..].to_owned()),
                name => {
                    let kind = kind.ok_or_else(|| self.error(format!("parameter '{name}' has no type")))?;
                    let element =
                        bytes_of(&kind).ok_or_else(|| self.error(format!("unknown type '.{kind}'")))?;
                    let mut bytes = element;
                    if self.take('[') {
                        bytes = self.integer()?.saturating_mul(element);
                        self.expect(']')?;
                    }
                    if bytes > MOST_PARAMETERS {
                        return Err(
                            self.error(format!("parameter '{name}' is larger than {MOST_PARAMETERS} bytes"))
                        );
                    }
                    // the alignment of a pointer is that of what it points to
                    let align = if pointer { element } else { align.unwrap_or(element) };
                    return Ok(Parameter { name: name.to_owned(), kind, bytes, align, pointer });
                }
            }
        }
    }

    fn statement(&mut self, body: &mut Body, depth: &mut usize) -> Result<(), Error> {
        if self.take('{') {
            *depth += 1;
            body.scopes.push(Scope { parent: Some(body.scope), ..Scope::default() });
            body.scope = body.scopes.len() - 1;
            return Ok(());
        }
        if self.take('}') {
            *depth -= 1;
            body.scope = body.scopes[body.scope].parent.unwrap_or(0);
            return Ok(());
        }
        if self.take(';') {
            return Ok(());
        }
        let (line, first) = (self.line(), self.at);
        let mut guard = None;
        if self.take('@') {
            let negated = self.take('!');
            let name = self.word()?;
            guard = Some((body.register(&name).ok_or_else(|| self.undeclared(&name))?, negated));
        }
        let word = self.word()?;
        match word.as_str() {
            ".reg" => return self.registers(body),
            ".shared" | ".local" | ".global" | ".const" => {
                let variables = self.variables(space_of(&word))?;
                for variable in &variables {
                    let known = body.function.variables.iter().any(|known| known.name == variable.name);
                    if known {
                        return Err(Error::syntax(line, format!("'{}' is declared twice", variable.name)));
                    }
                }
                body.function.variables.extend(variables);
                return Ok(());
            }
            ".loc" => {
                if let (Some(Kind::Integer(file)), Some(Kind::Integer(at))) =
                    (self.peek(), self.tokens.get(self.at + 1).map(|token| &token.kind))
                {
                    body.source = [*file as u32, *at as u32];
                }
                // an instruction may follow on the line
                while matches!(self.peek(), Some(Kind::Integer(_))) {
                    self.at += 1;
                }
                if self.is(',') {
                    self.skip_line();
                }
                self.remarks.push(self.bytes_since(first));
                return Ok(());
            }
            ".file" => {
                self.skip_line();
                self.remarks.push(self.bytes_since(first));
                return Ok(());
            }
            ".pragma" => {
                if self.pragma()? {
                    body.function.rolled.push(body.function.instructions.len());
                }
                return Ok(());
            }
            ".callprototype" | ".calltargets" => return self.skip_past(';'),
            ".param" => {
                self.passed(body)?;
                return self.expect(';');
            }
            _ if self.is(':') => {
                self.at += 1;
                let target = body.function.instructions.len();
                let scope = body.scope;
                if self.peek() == Some(&Kind::Word(".branchtargets".to_owned())) {
                    self.at += 1;
                    let mut names = vec![self.word()?];
                    while self.take(',') {
                        names.push(self.word()?);
                    }
                    self.expect(';')?;
                    body.scopes[scope].tables.insert(word, names);
                    return Ok(());
                }
                if body.scopes[scope].labels.insert(word.clone(), target).is_some() {
                    return Err(Error::syntax(line, format!("label '{word}' is declared twice")));
                }
                return Ok(());
            }
            _ => {}
        }
        let mut operands = vec![];
        while !self.take(';') {
            operands.push(self.operand(body, &word)?);
            if !self.take(',') && !self.is(';') {
                return Err(
                    self.error(format!("expected ',' or ';' after an operand, found {}", self.found()))
                );
            }
        }
        let branches = matches!(word.split('.').next(), Some("bra" | "brx"));
        if branches && operands.iter().any(|operand| matches!(operand, Operand::Symbol(..))) {
            body.branches.push((body.function.instructions.len(), body.scope));
        }
        body.function.instructions.push(Instruction {
            line,
            guard,
            form: word,
            written: None,
            operands,
            negate: [false; 2],
            source: body.source,
            first_byte: self.tokens[first].bytes.start,
        });
        Ok(())
    }

    fn undeclared(&self, name: &str) -> Error {
        let line = self.tokens[self.at.saturating_sub(1)].line;
        Error::syntax(line, format!("register '{name}' is not declared"))
    }

    /// How registers of the type that is next are held.
    fn kept(&mut self) -> Result<Kept, Error> {
        let kind = self.word()?;
        kept(&kind).ok_or_else(|| self.error(format!("registers of type '{kind}' are not supported")))
    }

    /// `.b32 %r<10>, %x;` after `.reg`.
    fn registers(&mut self, body: &mut Body) -> Result<(), Error> {
        let kept = self.kept()?;
        loop {
            let name = self.word()?;
            if self.take('<') {
                let count = self.integer()?;
                self.expect('>')?;
                body.scopes[body.scope].ranges.insert(name, (count, kept));
            } else {
                let id = body.declare(&name, kept).ok_or_else(|| self.error("too many registers"))?;
                body.scopes[body.scope].registers.insert(name, id);
            }
            if !self.take(',') {
                return self.expect(';');
            }
        }
    }

    fn operand(&mut self, body: &mut Body, form: &str) -> Result<Operand, Error> {
        let first = self.simple(body, form)?;
        if self.take('|') {
            let second = self.simple(body, form)?;
            return Ok(Operand::Pair(Box::new(first), Box::new(second)));
        }
        Ok(first)
    }

    fn list(&mut self, body: &mut Body, form: &str, end: char) -> Result<Vec<Operand>, Error> {
        self.nesting += 1;
        if self.nesting > MOST_NESTING {
            return Err(self.error(format!("operands of '{form}' are nested more than {MOST_NESTING} deep")));
        }
        let mut list = vec![];
        while !self.take(end) {
            list.push(self.operand(body, form)?);
            if !self.take(',') && !self.is(end) {
                return Err(self.error(format!("expected ',' or '{end}', found {}", self.found())));
            }
        }
        self.nesting -= 1;
        Ok(list)
    }

    fn simple(&mut self, body: &mut Body, form: &str) -> Result<Operand, Error> {
        if self.take('{') {
            return Ok(Operand::Vector(self.list(body, form, '}')?));
        }
        if self.take('(') {
            return Ok(Operand::Vector(self.list(body, form, ')')?));
        }
        if self.take('[') {
            let address = self.address(body)?;
            if self.take(']') {
                return Ok(address);
            }
            self.expect(',')?;
            let mut all = vec![address];
            all.extend(self.list(body, form, ']')?);
            return Ok(Operand::Vector(all));
        }
        if self.take('!') {
            let name = self.word()?;
            return Ok(Operand::Not(body.register(&name).ok_or_else(|| self.undeclared(&name))?));
        }
        if self.is('-') {
            if let Some(Token { kind: Kind::Double(bits), .. }) = self.tokens.get(self.at + 1) {
                let bits = *bits ^ 1 << 63;
                self.at += 2;
                return Ok(Operand::Double(bits));
            }
            return Ok(Operand::Integer(self.integer()?));
        }
        if self.take('~') {
            return Ok(Operand::Integer(!self.integer()?));
        }
        match self.next()? {
            Kind::Integer(value) => Ok(Operand::Integer(value)),
            // a number of FP32 is one of FP64, too
            Kind::Single(bits) if form.ends_with(".f64") => {
                Ok(Operand::Double(convert(&F32, &F64, bits.into(), Modifiers::NEAREST)))
            }
            Kind::Single(bits) => Ok(Operand::Single(bits)),
            Kind::Double(bits) => Ok(Operand::Double(bits)),
            Kind::Word(word) if word == "_" => Ok(Operand::Sink),
            Kind::Word(word) if word == WARP_SIZE => {
                Ok(Operand::Integer((LANES as u64).wrapping_add_signed(self.offset()?)))
            }
            Kind::Word(word) => {
                if let Some(id) = body.register(&word) {
                    let register = Operand::Register(id);
                    return Ok(match body.pairs.contains(&id) {
                        true => Operand::Pair(register.into(), Operand::Register(id + 1).into()),
                        false => register,
                    });
                }
                match word.strip_prefix('%') {
                    Some(special) if is_special(special) => Ok(Operand::Special(special.to_owned())),
                    Some(_) => Err(self.undeclared(&word)),
                    None => {
                        let offset = self.offset()?;
                        Ok(Operand::Symbol(body.symbol(word), offset))
                    }
                }
            }
            _ => {
                self.at -= 1;
                Err(self.error(format!("expected an operand of '{form}', found {}", self.found())))
            }
        }
    }

    /// `+ 4`, `-4`, or nothing.
    fn offset(&mut self) -> Result<i64, Error> {
        let mut offset = 0i64;
        loop {
            if self.take('+') || self.is('-') {
                offset = offset.wrapping_add(self.integer()? as i64);
            } else {
                return Ok(offset);
            }
        }
    }

    fn address(&mut self, body: &mut Body) -> Result<Operand, Error> {
        let base = match self.peek() {
            Some(Kind::Word(_)) => {
                let word = self.word()?;
                match body.register(&word) {
                    Some(id) => Base::Register(id),
                    None if word.starts_with('%') => return Err(self.undeclared(&word)),
                    None => Base::Symbol(body.symbol(word)),
                }
            }
            _ => {
                let at = self.integer()? as i64;
                return Ok(Operand::Address(Base::None, at.wrapping_add(self.offset()?)));
            }
        };
        Ok(Operand::Address(base, self.offset()?))
    }
}

impl Body {
    fn new(line: u32) -> Body {
        let function = Function { line, ..Function::default() };
        Body { function, scopes: vec![Scope::default()], ..Body::default() }
    }

    /// The name of a variable, or of what is passed to functions.
    fn symbol(&self, name: String) -> String {
        self.visible(self.scope, |scope| scope.passed.get(&name)).cloned().unwrap_or(name)
    }

    fn declare(&mut self, name: &str, kept: Kept) -> Option<RegisterId> {
        let registers = &mut self.function.registers;
        let id = registers.len() as RegisterId;
        (registers.len() < MOST_REGISTERS).then_some(())?;
        let width = if let Kept::One(width) = kept { width } else { Width::Wide };
        registers.push(Register { name: name.to_owned(), width });
        if let Kept::Pair = kept {
            registers.push(Register { name: format!("{name}{UPPER_HALF}"), width });
            self.pairs.insert(id);
        }
        Some(id)
    }

    /// The register that a name means here.
    fn register(&mut self, name: &str) -> Option<RegisterId> {
        let mut scope = Some(self.scope);
        while let Some(index) = scope {
            if let Some(id) = self.scopes[index].registers.get(name) {
                return Some(*id);
            }
            let stem = name.trim_end_matches(|character: char| character.is_ascii_digit());
            let number = &name[stem.len()..];
            if let Some((count, kept)) = self.scopes[index].ranges.get(stem).copied()
                && !(number.len() > 1 && number.starts_with('0'))
                && number.parse::<u64>().is_ok_and(|number| number < count)
            {
                let id = self.declare(name, kept)?;
                self.scopes[index].registers.insert(name.to_owned(), id);
                return Some(id);
            }
            scope = self.scopes[index].parent;
        }
        None
    }

    /// Resolves the labels.
    fn finish(mut self) -> Result<Function, Error> {
        for (index, scope) in std::mem::take(&mut self.branches) {
            let line = self.function.instructions[index].line;
            let is_indirect = self.function.instructions[index].name() == "brx";
            let label = |name: &str| match self.visible(scope, |scope| scope.labels.get(name)) {
                Some(target) => Ok(Operand::Label(*target)),
                None => Err(Error::syntax(line, format!("there is no label '{name}'"))),
            };
            let target = |name: &str| match self.visible(scope, |scope| scope.tables.get(name)) {
                _ if !is_indirect => label(name),
                Some(names) => {
                    names.iter().map(|name| label(name)).collect::<Result<_, _>>().map(Operand::Vector)
                }
                None => Err(Error::syntax(line, format!("there are no branch targets '{name}'"))),
            };
            let operands = self.function.instructions[index].operands.iter().map(|operand| match operand {
                Operand::Symbol(name, _) => target(name),
                operand => Ok(operand.clone()),
            });
            let operands = operands.collect::<Result<_, _>>()?;
            self.function.instructions[index].operands = operands;
        }
        Ok(self.function)
    }

    /// What a scope or one around it has.
    fn visible<T>(&self, scope: usize, has: impl Fn(&Scope) -> Option<&T>) -> Option<&T> {
        let around = std::iter::successors(Some(scope), |scope| self.scopes[*scope].parent);
        around.into_iter().find_map(|scope| has(&self.scopes[scope]))
    }
}

fn space_of(word: &str) -> Space {
    match word {
        ".shared" => Space::Shared,
        ".local" => Space::Local,
        ".const" => Space::Constant,
        _ => Space::Global,
    }
}

/// Bits of a type of elements of matrices.
pub(super) fn bits_of(kind: &str) -> Option<u64> {
    match kind {
        "s4" | "u4" => Some(4),
        "b1" => Some(1),
        _ => bytes_of(kind).map(|bytes| 8 * bytes),
    }
}

/// Bytes of a type.
pub(super) fn bytes_of(kind: &str) -> Option<u64> {
    let digits = kind.trim_start_matches(|character: char| character.is_ascii_alphabetic());
    match (kind, digits) {
        ("f16x2" | "bf16x2", _) => Some(4),
        (_, "8") => Some(1),
        (_, "16") => Some(2),
        (_, "32") => Some(4),
        (_, "64") => Some(8),
        (_, "128") => Some(16),
        _ => None,
    }
}

fn kept(kind: &str) -> Option<Kept> {
    match kind {
        ".pred" => Some(Kept::One(Width::Predicate)),
        _ => match bytes_of(kind.strip_prefix('.')?)? {
            16 => (kind == ".b128").then_some(Kept::Pair),
            8 => Some(Kept::One(Width::Wide)),
            bytes => Some(Kept::One(Width::Word(8 * bytes as u32))),
        },
    }
}

/// Whether PTX has a special register of that name.
fn is_special(name: &str) -> bool {
    let stem = name.split('.').next().unwrap_or(name);
    let numbered = |most: u32, stem: &str, tail: &str| {
        let number = name.strip_prefix(stem).and_then(|rest| rest.strip_suffix(tail));
        number.is_some_and(|number| (0..most).any(|one| one.to_string() == number))
    };
    numbered(32, "envreg", "")
        || numbered(8, "pm", "")
        || numbered(8, "pm", "_64")
        || matches!(
            stem,
            "tid"
                | "ntid"
                | "laneid"
                | "warpid"
                | "nwarpid"
                | "ctaid"
                | "nctaid"
                | "smid"
                | "nsmid"
                | "gridid"
                | "lanemask_eq"
                | "lanemask_le"
                | "lanemask_lt"
                | "lanemask_ge"
                | "lanemask_gt"
                | "clock"
                | "clock_hi"
                | "clock64"
                | "globaltimer"
                | "globaltimer_lo"
                | "globaltimer_hi"
                | "clusterid"
                | "nclusterid"
                | "cluster_ctaid"
                | "cluster_nctaid"
                | "cluster_ctarank"
                | "cluster_nctarank"
                | "is_explicit_cluster"
                | "dynamic_smem_size"
                | "total_smem_size"
                | "aggr_smem_size"
                | "current_graph_exec"
                | "reserved_smem_offset_begin"
                | "reserved_smem_offset_end"
                | "reserved_smem_offset_cap"
                | "reserved_smem_offset_0"
                | "reserved_smem_offset_1"
        )
}
