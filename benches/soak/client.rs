//! A client that sends one request of any kind at a time and knows the expected response.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use lapidary_gems::Recipe;
use serde_json::{Value, json};
use ureq::Agent;

use crate::data::{Data as _, GEMS, Uniform, id};
use crate::random::{Purpose, Random};
use crate::words::text_of_words;

/// The number of books of a client.
const BOOKS: u64 = 100;
/// The number of texts of a book, of which it has one at a time.
const VERSIONS: u64 = 4;
/// Words per text, some 20 pages.
const WORDS: usize = 6_000;
/// Lines per batch.
const BATCH: u64 = 20;

/// The response times of one kind of call.
#[derive(Default)]
pub struct Timed {
    times: Vec<Duration>,
    pub wrong: u64,
    pub first_wrong: Option<String>,
}

impl Timed {
    pub fn add(&mut self, other: Self) {
        self.times.extend(other.times);
        self.wrong += other.wrong;
        self.first_wrong = self.first_wrong.take().or(other.first_wrong);
    }

    /// Formats a row of the table.
    pub fn row(&mut self, within: Duration) -> String {
        self.times.sort_unstable();
        let count = self.times.len();
        let quantile = |share: f64| {
            let rank = ((share * count as f64).ceil() as usize).clamp(1, count.max(1));
            self.times
                .get(rank - 1)
                .map_or(0.0, |time| time.as_secs_f64() * 1e3)
        };
        let rate = count as f64 / within.as_secs_f64();
        format!(
            "{count} | {} | {rate:.1} | {:.2} | {:.2} | {:.0}",
            self.wrong,
            quantile(0.5),
            quantile(0.99),
            quantile(1.0)
        )
    }
}

/// The state of a book: its current text, and whether it is disabled.
#[derive(Clone, Copy)]
struct State {
    version: u64,
    disabled: bool,
}

pub struct Client<'a> {
    url: &'a str,
    shelf: &'a Uniform,
    library: String,
    random: Random,
    texts: Vec<String>,
    books: Vec<Option<State>>,
    agent: Agent,
    pub timed: BTreeMap<&'static str, Timed>,
}

/// The status and body of a response.
type Answer = Result<(u16, Value), String>;

impl<'a> Client<'a> {
    pub fn new(url: &'a str, shelf: &'a Uniform, seed: u64, number: u64) -> Self {
        let random = Random::new(seed, Purpose::Arrival, number);
        let text = |text| prose(&mut Random::new(seed, Purpose::Text, number << 32 | text));
        let agent = Agent::config_builder()
            .http_status_as_error(false)
            .timeout_global(Some(Duration::from_mins(1)));
        Self {
            url,
            shelf,
            library: format!("client-{seed}-{number}"),
            random,
            texts: (0..BOOKS * VERSIONS).map(text).collect(),
            books: vec![None; BOOKS as usize],
            agent: agent.build().into(),
            timed: BTreeMap::new(),
        }
    }

    /// Sends requests until told to stop or until the server is gone.
    pub fn run(&mut self, over: &AtomicBool) {
        while !over.load(Ordering::Relaxed) {
            let begun = Instant::now();
            let (kind, right) = match self.random.below(100) {
                0..30 => ("check of 200 gems", self.check_gems()),
                30..45 => ("check of 200 gems by form", self.check_form()),
                45..60 => ("check of a text of 40 KB", self.check_text()),
                60..64 => ("batch of 20 checks", self.batch()),
                64..80 => ("put of a text of 40 KB", self.put()),
                80..85 => ("removal", self.remove()),
                85..90 => ("disabling and enabling", self.disable()),
                90..97 => ("record of a book", self.record()),
                97..99 => ("page of a library", self.page()),
                _ => ("metrics", self.metrics()),
            };
            let took = begun.elapsed();
            if over.load(Ordering::Relaxed) {
                break;
            }
            let timed = self.timed.entry(kind).or_default();
            timed.times.push(took);
            if let Err(why) = right {
                timed.wrong += 1;
                timed
                    .first_wrong
                    .get_or_insert_with(|| format!("{kind}: {why}"));
            }
        }
    }

    fn one_of_mine(&mut self) -> (usize, Option<State>, String) {
        let book = self.random.below(BOOKS) as usize;
        (
            book,
            self.books[book],
            format!("{}/v1/libraries/{}/books/{book}", self.url, self.library),
        )
    }

    fn text(&self, book: usize, version: u64) -> &str {
        &self.texts[book * VERSIONS as usize + version as usize]
    }

    /// Nine tenths of the gems of a book of the shelf, in order.
    fn gems_of_shelf(&mut self) -> (String, Vec<u64>) {
        let book = self.random.below(self.shelf.books.into()) as u32;
        let gems = self
            .shelf
            .gems(book)
            .into_iter()
            .map(|gem| gem.0)
            .take(GEMS as usize * 9 / 10);
        (id(book), gems.collect())
    }

    fn check_gems(&mut self) -> Result<(), String> {
        let (id, gems) = self.gems_of_shelf();
        let common = gems.len();
        let answer = self.post("/v1/checks", &json!({ "gems": gems }));
        let (status, report) = answer?;
        let best = &report["matches"][0];
        right(
            status == 200 && best["book"]["id"] == id && best["common"] == common,
            status,
            &report,
        )
    }

    fn check_form(&mut self) -> Result<(), String> {
        let (id, gems) = self.gems_of_shelf();
        let gems = gems
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(",");
        let sent = self
            .agent
            .post(format!("{}/copyright_check_by_gems/", self.url))
            .send_form([("gems", gems)]);
        let (status, report) = read(sent)?;
        right(
            status == 200 && report["matches"][0]["book"]["id"] == id,
            status,
            &report,
        )
    }

    fn check_text(&mut self) -> Result<(), String> {
        let (book, state, _) = self.one_of_mine();
        let version = state.map_or(0, |state| state.version);
        let body = json!({ "text": self.text(book, version), "library": self.library });
        let (status, report) = self.post("/v1/checks", &body)?;
        if self.books.iter().all(Option::is_none) {
            return right(
                status == 404 && report["code"] == "no_such_library",
                status,
                &report,
            );
        }
        let name = book.to_string();
        let found = report["matches"]
            .as_array()
            .into_iter()
            .flatten()
            .find(|found| found["book"]["id"].as_str() == Some(&name));
        let as_it_is = match state {
            Some(State {
                disabled: false, ..
            }) => found.is_some_and(|found| found["share_of_book"] == 1.0),
            Some(State { disabled: true, .. }) => found.is_none() && report["disabled"] == 1,
            None => found.is_none(),
        };
        right(status == 200 && as_it_is, status, &report)
    }

    fn batch(&mut self) -> Result<(), String> {
        let some: Vec<(String, Vec<u64>)> = (0..BATCH).map(|_| self.gems_of_shelf()).collect();
        let lines: Vec<String> = some
            .iter()
            .map(|(_, gems)| json!({ "gems": gems }).to_string())
            .collect();
        let request = self
            .agent
            .post(format!("{}/v1/checks:batch", self.url))
            .content_type("application/x-ndjson");
        let mut answer = request.send(lines.join("\n")).map_err(|e| e.to_string())?;
        let status = answer.status().as_u16();
        let answers = answer
            .body_mut()
            .read_to_string()
            .map_err(|e| e.to_string())?;
        let answers: Vec<Value> = answers
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok())
            .collect();
        let best = |answer: &Value| {
            answer["report"]["matches"][0]["book"]["id"]
                .as_str()
                .map(str::to_owned)
        };
        let all = answers.len() == some.len()
            && answers
                .iter()
                .zip(&some)
                .all(|(answer, (id, _))| best(answer).as_ref() == Some(id));
        right(status == 200 && all, status, &json!(answers))
    }

    fn put(&mut self) -> Result<(), String> {
        let (book, state, url) = self.one_of_mine();
        let version = self.random.below(VERSIONS);
        let body = json!({ "rights": "protected", "text": self.text(book, version) });
        let (status, answer) = read(self.agent.put(url).send_json(body))?;
        let outcome = match state {
            None => "added",
            Some(State {
                version: before, ..
            }) if before == version => "unchanged",
            Some(_) => "replaced",
        };
        self.books[book] = Some(State {
            version,
            disabled: state.is_some_and(|state| state.disabled),
        });
        right(
            (status == 200 || status == 201) && answer["outcome"] == outcome,
            status,
            &answer,
        )
    }

    fn remove(&mut self) -> Result<(), String> {
        let (book, state, url) = self.one_of_mine();
        let (status, answer) = read(self.agent.delete(url).call())?;
        self.books[book] = None;
        right(
            status == if state.is_some() { 204 } else { 404 },
            status,
            &answer,
        )
    }

    fn disable(&mut self) -> Result<(), String> {
        let (book, state, url) = self.one_of_mine();
        let disabled = self.random.below(2) == 0;
        let (status, answer) = read(
            self.agent
                .patch(url)
                .send_json(json!({ "disabled": disabled })),
        )?;
        self.books[book] = state.map(|state| State { disabled, ..state });
        right(
            status == if state.is_some() { 200 } else { 404 },
            status,
            &answer,
        )
    }

    fn record(&mut self) -> Result<(), String> {
        let (_, state, url) = self.one_of_mine();
        let (status, record) = read(self.agent.get(url).call())?;
        let disabled = !record["standing"]["disabled_at"].is_null();
        let as_it_is = match state {
            Some(state) => status == 200 && disabled == state.disabled,
            None => status == 404,
        };
        right(as_it_is, status, &record)
    }

    fn page(&mut self) -> Result<(), String> {
        let there = self.books.iter().flatten().count();
        let (status, page) = read(
            self.agent
                .get(format!("{}/v1/libraries/{}/books", self.url, self.library))
                .call(),
        )?;
        let shown = page["books"].as_array().map_or(0, Vec::len);
        right(
            status == if there > 0 { 200 } else { 404 } && shown == there.min(100),
            status,
            &page,
        )
    }

    fn metrics(&mut self) -> Result<(), String> {
        let mut answer = self
            .agent
            .get(format!("{}/metrics", self.url))
            .call()
            .map_err(|e| e.to_string())?;
        let metrics = answer
            .body_mut()
            .read_to_string()
            .map_err(|e| e.to_string())?;
        right(
            metrics.contains("\nlapidary_ready 1\n"),
            answer.status().as_u16(),
            &json!("not ready"),
        )
    }

    fn post(&self, path: &str, body: &Value) -> Answer {
        read(
            self.agent
                .post(format!("{}{path}", self.url))
                .send_json(body),
        )
    }
}

fn read(answer: Result<ureq::http::Response<ureq::Body>, ureq::Error>) -> Answer {
    let mut answer = answer.map_err(|e| e.to_string())?;
    let body = answer
        .body_mut()
        .read_to_string()
        .map_err(|e| e.to_string())?;
    Ok((
        answer.status().as_u16(),
        serde_json::from_str(&body).unwrap_or_default(),
    ))
}

fn right(right: bool, status: u16, body: &Value) -> Result<(), String> {
    if right {
        Ok(())
    } else {
        Err(format!("{status} {:.300}", body.to_string()))
    }
}

/// A text that has gems.
fn prose(random: &mut Random) -> String {
    loop {
        let text = text_of_words(|end| random.below(end), WORDS);
        if Recipe::documented().gems(&text).len() >= 10 {
            return text;
        }
    }
}
