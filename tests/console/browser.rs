//! Drives Chromium through [WebDriver](https://www.w3.org/TR/webdriver2/). Every wait is for something that the page shows.

use std::env;
use std::fs;
use std::io::{BufRead as _, BufReader, Write as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use ureq::Agent;

use crate::common::Server;

/// Keys, as [WebDriver](https://www.w3.org/TR/webdriver2/#keyboard-actions) names them.
pub const ENTER: &str = "\u{e007}";
pub const TAB: &str = "\u{e004}";
const ALT: char = '\u{e00a}';

/// The property in which WebDriver names an element.
const ELEMENT: &str = "element-6066-11e4-a52e-4f735466cecf";

/// How long to wait for what a page is to show: a busy machine is slow.
const PATIENCE: Duration = Duration::from_mins(1);

/// How often to start the driver.
const ATTEMPTS: usize = 10;

/// The largest answer of the browser in bytes, and the highest picture.
const MOST: u64 = 100 << 20;
const HIGHEST: f64 = 3_000.0;

/// Says that a test is skipped for want of a program. Where all tests are required, that is a failure.
pub fn skip(why: &str) {
    assert!(env::var_os("LAPIDARY_REQUIRE").is_none(), "{why}");
    told_skipped(why);
}

/// Says that a test is skipped.
pub fn told_skipped(why: &str) {
    // Written directly, because the test harness hides the output of tests that pass.
    let _ = writeln!(std::io::stderr(), "skipped: {why}");
}

/// Starts the driver of browsers: `None` if there is none. It ends if another program has the port, which was free for IPv4, for
/// IPv6.
fn driver() -> Option<(Child, String)> {
    for _ in 0..ATTEMPTS {
        let started = Command::new("chromedriver")
            .arg("--port=0")
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn();
        let mut driver = started.ok()?;
        let lines = BufReader::new(driver.stdout.take().expect("a pipe")).lines();
        let mut ports = lines.map_while(Result::ok).filter_map(|line| {
            line.split_once("started successfully on port ")?
                .1
                .trim_end_matches('.')
                .parse::<u16>()
                .ok()
        });
        if let Some(port) = ports.next() {
            return Some((driver, format!("http://127.0.0.1:{port}")));
        }
        driver.wait().expect("it has ended");
    }
    panic!("chromedriver finds no free port in {ATTEMPTS} attempts");
}

/// A browser with a window of its own, closed on drop.
pub struct Browser {
    driver: Child,
    session: String,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// Starts a browser whose user reads this language. Without Chromium, says so and returns `None`.
    pub fn start(language: &str) -> Option<Self> {
        let Some((driver, url)) = driver() else {
            skip("there is no chromedriver to test the console with");
            return None;
        };
        let profile = tempfile::tempdir().expect("a folder");
        let arguments = [
            "--headless=new",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--no-first-run",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--window-size=1280,900",
            // Nothing but this machine.
            "--host-resolver-rules=MAP * ~NOTFOUND , EXCLUDE 127.0.0.1 , EXCLUDE localhost",
        ];
        let mut arguments: Vec<String> = arguments.map(str::to_owned).into();
        arguments.push(format!("--accept-lang={language}"));
        arguments.push(format!("--user-data-dir={}", profile.path().display()));
        let options = json!({ "args": arguments, "prefs": { "intl.accept_languages": language } });
        // The rules of accessibility take long on a busy machine.
        let timeouts = json!({ "script": 120_000 });
        let capabilities =
            json!({ "alwaysMatch": { "goog:chromeOptions": options, "timeouts": timeouts } });
        let answer = post(
            &format!("{url}/session"),
            &json!({ "capabilities": capabilities }),
        );
        let answer = answer.expect("a browser");
        let session = answer["sessionId"].as_str().expect("a session");
        Some(Self {
            driver,
            session: format!("{url}/session/{session}"),
            _profile: profile,
        })
    }

    /// Sends a command to the browser. An error is what WebDriver says.
    fn send(&self, command: &str, parameters: &Value) -> Result<Value, String> {
        post(&format!("{}/{command}", self.session), parameters)
    }

    pub fn go(&self, url: &str) {
        self.send("url", &json!({ "url": url })).expect("a page");
    }

    /// Signs in with a key, on the page of a server.
    pub fn sign_in(&self, server: &Server, secret: &str) {
        self.go(&server.url);
        self.type_into("#key", secret);
        self.click("button.main");
        self.find("nav");
    }

    pub fn sign_out(&self) {
        self.click("form[action='/console/sign-out'] button");
        self.see("h1", "Sign in");
    }

    pub fn url(&self) -> String {
        let url = self.js("return location.href");
        url.as_str().expect("an address").to_owned()
    }

    /// Waits for an element. Returns the command that it is addressed with.
    pub fn find(&self, css: &str) -> String {
        let deadline = Instant::now() + PATIENCE;
        let by = json!({ "using": "css selector", "value": css });
        loop {
            match self.send("element", &by) {
                Ok(found) => {
                    let element = found[ELEMENT].as_str().expect("an element");
                    return format!("element/{element}");
                }
                Err(error) if Instant::now() > deadline => {
                    panic!("{css}: {error}\n{}", self.text("body"))
                }
                Err(_) => thread::sleep(Duration::from_millis(50)),
            }
        }
    }

    /// Waits until an element shows these words.
    pub fn see(&self, css: &str, words: &str) {
        let deadline = Instant::now() + PATIENCE;
        let mut seen = String::new();
        while Instant::now() < deadline {
            seen = self.text(css);
            if seen.contains(words) {
                return;
            }
            thread::sleep(Duration::from_millis(50));
        }
        panic!("{css} does not show '{words}' at {}: {seen}", self.url());
    }

    pub fn text(&self, css: &str) -> String {
        let script = format!("return document.querySelector({css:?})?.innerText ?? ''");
        self.js(&script).as_str().unwrap_or_default().to_owned()
    }

    pub fn click(&self, css: &str) {
        let element = self.find(css);
        self.send(&format!("{element}/click"), &json!({}))
            .unwrap_or_else(|error| panic!("{css}: {error}"));
    }

    /// Types into the element, after what it has.
    pub fn type_into(&self, css: &str, text: &str) {
        let element = self.find(css);
        self.send(&format!("{element}/value"), &json!({ "text": text }))
            .unwrap_or_else(|error| panic!("{css}: {error}"));
    }

    /// Presses a key with Alt, wherever the focus is.
    pub fn press_with_alt(&self, key: char) {
        let actions = [
            ("keyDown", ALT),
            ("keyDown", key),
            ("keyUp", key),
            ("keyUp", ALT),
        ]
        .map(|(action, value)| json!({ "type": action, "value": value }));
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.send("actions", &json!({ "actions": [keyboard] }))
            .expect("a keyboard");
    }

    /// Presses keys wherever the focus is.
    pub fn press(&self, keys: &str) {
        let actions = keys.chars().flat_map(|key| {
            ["keyDown", "keyUp"].map(|action| json!({ "type": action, "value": key }))
        });
        let actions: Vec<Value> = actions.collect();
        let keyboard = json!({ "type": "key", "id": "keyboard", "actions": actions });
        self.send("actions", &json!({ "actions": [keyboard] }))
            .expect("a keyboard");
    }

    pub fn js(&self, script: &str) -> Value {
        self.send("execute/sync", &json!({ "script": script, "args": [] }))
            .unwrap_or_else(|error| panic!("{script}: {error}"))
    }

    /// Runs a script that calls its last argument with the result.
    pub fn js_later(&self, script: &str) -> Value {
        self.send("execute/async", &json!({ "script": script, "args": [] }))
            .expect("a result")
    }

    /// A command of the protocol of Chrome's developer tools.
    pub fn devtools(&self, command: &str, parameters: &Value) -> Value {
        let command = json!({ "cmd": command, "params": parameters });
        self.send("goog/cdp/execute", &command).expect("an answer")
    }

    /// Chooses the theme and the width of the page.
    pub fn looks(&self, theme: &str, width: u32) {
        let feature = json!([{ "name": "prefers-color-scheme", "value": theme }]);
        self.devtools(
            "Emulation.setEmulatedMedia",
            &json!({ "features": feature }),
        );
        let size =
            json!({ "width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600 });
        self.devtools("Emulation.setDeviceMetricsOverride", &size);
    }

    /// Keeps a picture of the whole page.
    pub fn picture(&self, name: &str) {
        let size = self.js(
            "const page = document.documentElement; return [page.clientWidth, page.scrollHeight]",
        );
        let height = size[1].as_f64().expect("a height").min(HIGHEST);
        let clip = json!({ "x": 0, "y": 0, "width": size[0], "height": height, "scale": 1 });
        self.keep(
            &format!("{name}.png"),
            &json!({ "captureBeyondViewport": true, "clip": clip }),
        );
    }

    /// Keeps a small picture of the top of an element, for the documentation.
    pub fn sample(&self, name: &str, css: &str) {
        let top = self.js(&format!(
            "return document.querySelector({css:?}).getBoundingClientRect().top + scrollY"
        ));
        let clip = json!({ "x": 40, "y": top, "width": 1200, "height": 1080, "scale": 0.65 });
        let small =
            json!({ "captureBeyondViewport": true, "clip": clip, "format": "webp", "quality": 60 });
        self.keep(&format!("{name}.webp"), &small);
    }

    fn keep(&self, name: &str, how: &Value) {
        let shot = self.devtools("Page.captureScreenshot", how);
        let picture = BASE64_STANDARD
            .decode(shot["data"].as_str().expect("a picture"))
            .expect("Base64");
        let folder = pictures();
        fs::create_dir_all(&folder).expect("a folder");
        fs::write(folder.join(name), picture).expect("a file");
    }

    /// Waits until the page shows nothing in progress.
    pub fn settle(&self) {
        self.js_later(
            "const done = arguments[0]; const look = () => document.readyState === 'complete' && \
             !document.querySelector('.htmx-request, .htmx-swapping, .htmx-settling') ? done(true) : setTimeout(look, 30); look();",
        );
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        // It ends the browser, too.
        let _ = ureq::delete(&self.session).call();
        let _ = self.driver.kill();
        let _ = self.driver.wait();
    }
}

/// Sends a command to the driver, and returns the value or the error of its answer.
fn post(url: &str, parameters: &Value) -> Result<Value, String> {
    let agent: Agent = Agent::config_builder()
        .http_status_as_error(false)
        .build()
        .into();
    let mut answer = agent.post(url).send_json(parameters).expect("an answer");
    let body = answer.body_mut().with_config().limit(MOST);
    let value = body.read_json::<Value>().expect("JSON")["value"].take();
    if answer.status().is_success() {
        Ok(value)
    } else {
        Err(format!("{}: {}", value["error"], value["message"]))
    }
}

/// The folder of the pictures, next to the programs under test.
pub fn pictures() -> PathBuf {
    let program = Path::new(crate::common::LAPIDARY);
    program
        .parent()
        .and_then(Path::parent)
        .expect("a target folder")
        .join("console-pictures")
}
