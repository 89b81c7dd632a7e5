//! The configuration described for editors and for `docs/config.md`: types and texts from `raw`, values from
//! `default.toml`.

use serde_json::{Value, json};
use utoipa::PartialSchema as _;

use super::load::DEFAULTS;
use super::raw::Raw;

/// A JSON Schema of the whole configuration.
#[must_use]
pub fn schema() -> Value {
    let mut schema = serde_json::to_value(Raw::schema()).unwrap_or_default();
    let defaults: toml::Table = DEFAULTS.parse().unwrap_or_default();
    let sections = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, section) in sections.into_iter().flatten() {
        described(section, defaults.get(name));
    }
    if let Some(schema) = schema.as_object_mut() {
        schema.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        schema.insert("title".to_owned(), json!("chancery.toml"));
    }
    schema
}

fn described(section: &mut Value, defaults: Option<&toml::Value>) {
    plain_section(section);
    let keys = section.get_mut("properties").and_then(Value::as_object_mut);
    for (key, property) in keys.into_iter().flatten() {
        let default = defaults.and_then(|section| section.get(key));
        if property.to_string().contains("\"properties\"") {
            described(property, default);
        } else {
            plain_property(property, default);
        }
    }
}

/// utoipa writes an inlined struct as `allOf` of the struct and the field; one object is enough.
fn plain_section(section: &mut Value) {
    let parts = section.get("allOf").or_else(|| section.get("oneOf")).and_then(Value::as_array);
    let Some(parts) = parts else { return };
    let Some(shape) = parts.iter().find(|part| part.get("properties").is_some()) else { return };
    let said = section.get("description").or_else(|| parts.iter().rev().find_map(|part| part.get("description")));
    let mut plain = shape.clone();
    if let (Some(plain), Some(text)) = (plain.as_object_mut(), said) {
        plain.insert("description".to_owned(), text.clone());
    }
    *section = plain;
}

fn plain_property(property: &mut Value, default: Option<&toml::Value>) {
    // A reference carries its text beside itself, one level down.
    let beside = property.get("oneOf").and_then(Value::as_array).into_iter().flatten();
    let text = beside.chain([&*property]).find_map(|shape| shape.get("description")).cloned();
    let is_size = property.to_string().contains("schemas/Size");
    if is_size {
        *property = json!({"type": ["integer", "string"]});
    }
    let Some(property) = property.as_object_mut() else { return };
    if let (true, Some(text)) = (is_size, text) {
        property.insert("description".to_owned(), text);
    }
    if let Some(Value::Array(types)) = property.get_mut("type") {
        types.retain(|kind| kind != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            property.insert("type".to_owned(), only);
        }
    }
    property.remove("default");
    if let Some(default) = default.and_then(|value| serde_json::to_value(value).ok()) {
        property.insert("default".to_owned(), default);
    }
}
