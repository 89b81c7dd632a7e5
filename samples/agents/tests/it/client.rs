//! A small HTTP client for the tests: sends what it is told, gives back status, headers and JSON.

use json::{Json, Limits};
use reqwest::header::HeaderMap;

/// An answer, read to its end.
pub(crate) struct Answer {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) text: String,
}

impl Answer {
    pub(crate) fn json(&self) -> Json {
        parse(&self.text)
    }

    /// The text at a pointer; panics with the whole document if there is none.
    pub(crate) fn text_at(&self, pointer: &str) -> String {
        text_at(&self.json(), pointer)
    }

    /// The data of every event.
    pub(crate) fn events(&self) -> Vec<Json> {
        let lines = self.text.split("\n\n").filter(|event| !event.trim().is_empty() && !event.starts_with(':'));
        lines.map(|event| parse(event.strip_prefix("data: ").unwrap_or_else(|| panic!("no data: {event}")))).collect()
    }
}

pub(crate) fn parse(text: &str) -> Json {
    json::read(text.as_bytes(), &Limits::default()).unwrap_or_else(|error| panic!("{error}: {text}"))
}

pub(crate) fn text_at(json: &Json, pointer: &str) -> String {
    let found = json.pointer(pointer).and_then(Json::as_str).map(str::to_owned);
    found.unwrap_or_else(|| panic!("no text at {pointer} in {}", String::from_utf8_lossy(&json::write(json))))
}

/// One exchange. `headers` are added as they are; a body gets `application/json` unless they say otherwise.
pub(crate) async fn exchange(method: &str, url: &str, headers: &[(&str, &str)], body: Option<&str>) -> Answer {
    let client = reqwest::Client::builder().no_proxy().build().unwrap();
    let mut request = client.request(method.parse().unwrap(), url);
    if let Some(body) = body {
        request = request.header("content-type", "application/json").body(body.to_owned());
    }
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let response = request.send().await.unwrap();
    let (status, headers) = (response.status().as_u16(), response.headers().clone());
    Answer { status, headers, text: response.text().await.unwrap() }
}

pub(crate) async fn get(url: &str) -> Answer {
    exchange("GET", url, &[], None).await
}

pub(crate) async fn post(url: &str, body: &str) -> Answer {
    exchange("POST", url, &[], Some(body)).await
}
