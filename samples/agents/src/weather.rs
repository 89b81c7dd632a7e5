//! `weather`: a three-day forecast that is made up, and the same for the same city every time.

use a2a_agent::{Card, Outcome, Server, Skill, Turn, part};
use json::{Json, Number};

use crate::settings::Ground;

/// Where it answers.
pub const PATH: &str = "/a2a/weather";

pub(crate) fn card() -> Card {
    let skill = Skill::new("forecast", "Forecast", "A made-up forecast for three days.", &["weather", "demo"]);
    Card::new("Weather Agent", "Tells the weather of the next three days, made up but the same each time.")
        .input("application/json")
        .output("application/json")
        .skill(skill.examples(&["What is the weather in Paris?", "weather in Lisbon"]))
}

pub(crate) fn server(ground: &Ground) -> Server {
    ground.agent(card(), PATH).on_message(answer).into_server()
}

async fn answer(turn: Turn) -> Outcome {
    let city = city(&turn);
    let days: Vec<Day> = (0..3).map(|at| Day::of(&city, at)).collect();
    let forecast = Json::from([
        ("city", Json::from(city.as_str())),
        ("unit", "celsius".into()),
        ("days", days.iter().map(Day::document).collect::<Vec<_>>().into()),
    ]);
    let told: Vec<String> = days.iter().map(Day::told).collect();
    let summary = format!("Weather in {city}: {}.", told.join("; "));
    Outcome::artifact("forecast", [part::structured(forecast), part::text(summary)])
}

/// The city that is asked for: in structured content, behind "in" or "for", or the text itself.
fn city(turn: &Turn) -> String {
    let mut structured = turn.parts().iter().filter_map(|part| part.get("data")?.get("city")?.as_str());
    if let Some(city) = structured.next() {
        return city.to_owned();
    }
    let text = turn.text();
    let text = text.trim().trim_end_matches(['?', '!', '.']);
    // Of ASCII alone, so that places in both texts are the same.
    let lower = text.to_ascii_lowercase();
    let behind = [" in ", " for "].iter().find_map(|word| lower.rfind(word).map(|at| at + word.len()));
    let named = behind.and_then(|at| text.get(at..)).unwrap_or(text).trim();
    if named.is_empty() || named.chars().count() > LONGEST_NAME { DEFAULT_CITY.to_owned() } else { named.to_owned() }
}

/// Longer texts are no names of cities.
const LONGEST_NAME: usize = 40;

const DEFAULT_CITY: &str = "London";

const SKIES: [&str; 6] = ["sunny", "partly cloudy", "cloudy", "light rain", "thunderstorms", "windy"];

struct Day {
    day: i64,
    sky: &'static str,
    high: i64,
    low: i64,
}

impl Day {
    fn of(city: &str, day: i64) -> Self {
        // FNV-1a: any mixing will do, as long as it never changes.
        let seed = city
            .to_lowercase()
            .bytes()
            .fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3));
        let mixed =
            (seed ^ (day as u64 + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15)).wrapping_mul(0xff51_afd7_ed55_8ccd) >> 33;
        let low = (mixed % 18) as i64;
        let sky = SKIES.get((mixed / 18 % 6) as usize).copied().unwrap_or("sunny");
        Self { day: day + 1, sky, low, high: low + 4 + (mixed / 108 % 9) as i64 }
    }

    fn document(&self) -> Json {
        let number = |value: i64| Json::from(Number::from(value));
        Json::from([
            ("day", number(self.day)),
            ("conditions", self.sky.into()),
            ("high", number(self.high)),
            ("low", number(self.low)),
        ])
    }

    fn told(&self) -> String {
        format!("day {} {}, {} to {} °C", self.day, self.sky, self.low, self.high)
    }
}
