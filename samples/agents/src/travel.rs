//! `travel-planner`: long work that can be watched. SUBMITTED, WORKING with news, an itinerary in pieces, then COMPLETED with
//! Markdown, JSON, a link to a file and a file. Metadata `stepDelayMs` (0 to 5000) sets the pace.

use std::time::Duration;

use a2a_agent::{Artifact, Card, Outcome, Server, Skill, TaskHandle, Turn, part};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use json::Json;

use crate::settings::Ground;

/// Where it answers.
pub const PATH: &str = "/a2a/travel-planner";

pub(crate) fn card() -> Card {
    let skill =
        Skill::new("plan", "Plan a trip", "Plans a trip day by day and tells how it goes.", &["travel", "demo"]);
    Card::new("Travel Planner Agent", "Plans trips, step by step, with news on the way and files in the end.")
        .output("text/markdown")
        .output("application/json")
        .output("text/calendar")
        .skill(skill.examples(&["Plan a 3 day trip to Lisbon", "Weekend to Kyoto"]))
}

pub(crate) fn server(ground: &Ground) -> Server {
    ground.agent(card(), PATH).on_message(answer).into_server()
}

/// What the caller wants.
struct Trip {
    place: String,
    days: usize,
    pace: Duration,
}

const NEWS: [&str; 3] = ["Looking for flights.", "Comparing hotels.", "Writing the itinerary."];
const DAYS_LIMIT: usize = 14;
const DEFAULT_PACE_MS: i64 = 300;
const PACE_LIMIT_MS: i64 = 5_000;

async fn answer(turn: Turn) -> Outcome {
    let trip = Trip::of(&turn);
    let task = turn.start();
    for news in NEWS {
        task.progress(news);
        if trip.rest(&task).await.is_err() {
            return Outcome::Completed(Vec::new());
        }
    }
    let mut itinerary = task.open_artifact("itinerary");
    itinerary.push([markdown(format!("# {}\n", trip.title()))]);
    for day in 1..trip.days {
        itinerary.push([markdown(trip.day(day))]);
        if trip.rest(&task).await.is_err() {
            return Outcome::Completed(Vec::new());
        }
    }
    itinerary.close([markdown(trip.day(trip.days))]);
    Outcome::Completed(vec![trip.budget(), trip.map(), trip.calendar()])
}

/// The task was cancelled.
struct Canceled;

impl Trip {
    fn of(turn: &Turn) -> Self {
        let text = turn.text();
        // Of ASCII alone, so that places in both texts are the same.
        let lower = text.to_ascii_lowercase();
        let place = lower.rfind(" to ").and_then(|at| text.get(at + 4..)).unwrap_or_default();
        let place = place.trim().trim_end_matches(['.', '!', '?']);
        let words: Vec<&str> = lower.split_whitespace().collect();
        let number = words.windows(2).find(|pair| pair.last().is_some_and(|word| word.starts_with("day")));
        let number = number.and_then(|pair| pair.first()?.parse().ok());
        let usual = if lower.contains("weekend") { 2 } else { 3 };
        let days: usize = number.unwrap_or(usual);
        let pace = turn.metadata("stepDelayMs").and_then(Json::as_number).and_then(json::Number::as_i64);
        let pace = pace.unwrap_or(DEFAULT_PACE_MS).clamp(0, PACE_LIMIT_MS);
        Self {
            place: if place.is_empty() { "somewhere nice".to_owned() } else { place.to_owned() },
            days: days.clamp(1, DAYS_LIMIT),
            pace: Duration::from_millis(pace.unsigned_abs()),
        }
    }

    /// Works for a while.
    async fn rest(&self, task: &TaskHandle) -> Result<(), Canceled> {
        if self.pace.is_zero() {
            tokio::task::yield_now().await;
        } else {
            tokio::select! {
                () = tokio::time::sleep(self.pace) => {}
                () = task.canceled() => {}
            }
        }
        if task.is_canceled() { Err(Canceled) } else { Ok(()) }
    }

    fn title(&self) -> String {
        let days = if self.days == 1 { "day" } else { "days" };
        format!("{} {days} in {}", self.days, self.place)
    }

    fn day(&self, day: usize) -> String {
        let plan = ["the old town and a long lunch", "the museums, and the harbour at dusk", "the hills outside"];
        let plan = plan.get((day - 1) % plan.len()).copied().unwrap_or_default();
        format!("\n## Day {day}\n\nIn {}: {plan}.\n", self.place)
    }

    fn budget(&self) -> Artifact {
        let days = i64::try_from(self.days).unwrap_or_default();
        let budget = Json::from([
            ("destination", Json::from(self.place.as_str())),
            ("days", days.into()),
            ("currency", "EUR".into()),
            ("hotel", (days * 110).into()),
            ("meals", (days * 45).into()),
            ("total", (days * 155 + 240).into()),
        ]);
        Artifact::new("budget", [part::structured(budget)])
    }

    fn map(&self) -> Artifact {
        let name: String =
            self.place.to_lowercase().chars().map(|it| if it.is_ascii_alphanumeric() { it } else { '-' }).collect();
        let url = format!("https://maps.example.com/{name}.pdf");
        Artifact::new("map", [part::url(&url, &format!("{name}.pdf"), "application/pdf")])
    }

    fn calendar(&self) -> Artifact {
        let lines = [
            "BEGIN:VCALENDAR",
            "VERSION:2.0",
            "PRODID:-//sample-agents//travel-planner//EN",
            "BEGIN:VEVENT",
            "UID:trip@sample-agents",
            &format!("SUMMARY:{}", self.title()),
            &format!("DURATION:P{}D", self.days),
            "END:VEVENT",
            "END:VCALENDAR",
            "",
        ];
        let file = STANDARD.encode(lines.join("\r\n"));
        Artifact::new("calendar", [part::raw(&file, "trip.ics", "text/calendar")])
    }
}

fn markdown(text: String) -> Json {
    [("text", Json::from(text)), ("mediaType", "text/markdown".into())].into()
}
