//! The facts of a call as Cedar's values: what is the same whoever is asked about, made once; and for each caller a request
//! and the few entities that it names.

use crate::clock::Micros;
use crate::registry::conditions::{Asked, AskedMessage, Behind, Metadata};
use a2a::OperationKind;
use cedar_policy::{
    Context, Entities, Entity, EntityId, EntityTypeName, EntityUid, Request, RestrictedExpression as Value, Schema,
};
use std::collections::{BTreeMap, BTreeSet};
use time::{OffsetDateTime, Weekday};

/// Names of the schema, parsed once.
pub(super) struct Names {
    card: EntityTypeName,
    direction: EntityTypeName,
    flags: EntityTypeName,
    group: EntityTypeName,
    lists: EntityTypeName,
    numbers: EntityTypeName,
    principal: EntityTypeName,
    scheme: EntityTypeName,
    tag: EntityTypeName,
    texts: EntityTypeName,
    weekday: EntityTypeName,
    /// The operations with the groups that they are in.
    actions: Vec<(OperationKind, Entity)>,
}

/// What is the same whoever is asked about.
pub(super) struct Facts<'a> {
    action: EntityUid,
    card: EntityUid,
    context: Context,
    entities: Vec<Entity>,
    behind: Option<&'a Behind>,
}

/// Somebody whom policies are asked about.
pub(super) struct Caller<'a> {
    /// Its place in the chain; none for who calls now.
    pub(super) hop: Option<u32>,
    /// Its name.
    pub(super) name: &'a str,
    groups: &'a [String],
}

/// Who calls, and whoever called before in the chain, each once.
pub(super) fn callers(asked: &Asked) -> Vec<Caller<'_>> {
    let mut callers = vec![Caller { hop: None, name: &asked.principal, groups: &asked.groups }];
    let hops = asked.delegation.iter().flat_map(|behind| &behind.hops);
    for (hop, (name, groups, _)) in (1..).zip(hops) {
        if !callers.iter().any(|known| known.name == name && known.groups == groups) {
            callers.push(Caller { hop: Some(hop), name, groups });
        }
    }
    callers
}

type Pairs<const N: usize> = [(&'static str, Value); N];

impl Names {
    /// Of the schema; `None` where it lacks one.
    pub(super) fn of(schema: &Schema) -> Option<Self> {
        let name = |text: &str| text.parse::<EntityTypeName>().ok();
        let entities = schema.action_entities().ok()?;
        let action = |kind: OperationKind| {
            let uid = EntityUid::from_type_name_and_id(name("Action")?, EntityId::new(kind.name()));
            Some((kind, entities.get(&uid)?.clone()))
        };
        Some(Self {
            card: name("Card")?,
            direction: name("Direction")?,
            flags: name("Flags")?,
            group: name("Group")?,
            lists: name("Lists")?,
            numbers: name("Numbers")?,
            principal: name("Principal")?,
            scheme: name("Scheme")?,
            tag: name("Tag")?,
            texts: name("Texts")?,
            weekday: name("Weekday")?,
            actions: OperationKind::ALL.into_iter().map(action).collect::<Option<_>>()?,
        })
    }

    /// What holds whoever is asked about; metadata only where it is read. `None` where a value can't be made, which denies.
    pub(super) fn facts<'a>(&self, asked: &'a Asked, reads_metadata: bool) -> Option<Facts<'a>> {
        let mut entities = Vec::new();
        let action =
            self.actions.iter().find(|(kind, _)| *kind == asked.operation).map(|(_, action)| action.clone())?;
        let card = self.card(asked)?;
        let (action_uid, card_uid) = (action.uid(), card.uid());
        entities.extend([action, card]);
        let none = Metadata::default();
        let metadata = |of: &'_ Metadata, place, entities: &mut Vec<Entity>| {
            self.metadata(if reads_metadata { of } else { &none }, place, entities)
        };
        let mut context = vec![
            ("time".to_owned(), self.time(asked.now)?),
            ("source".to_owned(), Value::new_ip(asked.source.to_canonical().to_string())),
            ("scheme".to_owned(), self.reference(&self.scheme, asked.scheme)),
            ("extensions".to_owned(), texts(&asked.extensions)),
            ("metadata".to_owned(), metadata(&asked.metadata, "request", &mut entities)?),
        ];
        if let Some(behind) = &asked.delegation {
            context.push(("delegation".to_owned(), self.delegation(behind)?));
        }
        if let Some(AskedMessage { metadata: of, extensions, parts, follow_up }) = &asked.message {
            let message = record([
                ("metadata", metadata(of, "message", &mut entities)?),
                ("extensions", texts(extensions)),
                ("parts", Value::new_long(i64::try_from(*parts).ok()?)),
                ("follow_up", Value::new_bool(*follow_up)),
            ])?;
            context.push(("message".to_owned(), message));
        }
        let context = Context::from_pairs(context).ok()?;
        Some(Facts { action: action_uid, card: card_uid, context, entities, behind: asked.delegation.as_ref() })
    }

    /// The request about one caller, and its entities. `None` where a value can't be made, which denies.
    pub(super) fn request(&self, facts: &Facts<'_>, caller: &Caller<'_>) -> Option<(Request, Entities)> {
        let mut entities = facts.entities.clone();
        self.principals(caller, facts.behind, &mut entities)?;
        let principal = self.uid(&self.principal, caller.name);
        let (action, card, context) = (facts.action.clone(), facts.card.clone(), facts.context.clone());
        // What we make fits the schema, which a test proves; checking it for every call would cost more than judging.
        let request = Request::new(principal, action, card, context, None).ok()?;
        Some((request, Entities::from_entities(entities, None).ok()?))
    }

    fn uid(&self, kind: &EntityTypeName, id: &str) -> EntityUid {
        EntityUid::from_type_name_and_id(kind.clone(), EntityId::new(id))
    }

    fn reference(&self, kind: &EntityTypeName, id: &str) -> Value {
        Value::new_entity_uid(self.uid(kind, id))
    }

    fn card(&self, asked: &Asked) -> Option<Entity> {
        let mut attributes = BTreeMap::from([
            ("name".to_owned(), Value::new_string(asked.card.clone())),
            ("direction".to_owned(), self.reference(&self.direction, asked.direction)),
            ("revision".to_owned(), Value::new_long(asked.revision)),
        ]);
        if let Some(release) = &asked.release {
            attributes.insert("release".to_owned(), Value::new_string(release.clone()));
        }
        let tags = asked.tags.iter().map(|tag| self.uid(&self.tag, tag));
        Entity::new_with_tags(self.uid(&self.card, &asked.card), attributes, tags, []).ok()
    }

    /// The caller that is asked about and those that the chain names. Somebody may be there twice, and is one entity.
    fn principals(&self, caller: &Caller<'_>, behind: Option<&Behind>, entities: &mut Vec<Entity>) -> Option<()> {
        let mut all: BTreeMap<&str, BTreeSet<&String>> = BTreeMap::new();
        all.entry(caller.name).or_default().extend(caller.groups);
        let hops = behind.into_iter().flat_map(|behind| behind.hops.first().into_iter().chain(behind.hops.last()));
        for (name, groups, _) in hops {
            // Groups that only the caller's token names are the caller's in this call alone.
            if *name != caller.name {
                all.entry(name).or_default().extend(groups);
            }
        }
        for (name, groups) in all {
            let attributes = [("name".to_owned(), Value::new_string(name.to_owned()))];
            let parents = groups.into_iter().map(|group| self.uid(&self.group, group));
            entities.push(Entity::new_with_tags(self.uid(&self.principal, name), attributes, parents, []).ok()?);
        }
        Some(())
    }

    fn time(&self, now: Micros) -> Option<Value> {
        let seconds = now.div_euclid(1_000_000);
        let at = OffsetDateTime::from_unix_timestamp(seconds).ok()?;
        let (year, month, day) = (i64::from(at.year()), i64::from(u8::from(at.month())), i64::from(at.day()));
        let (hour, minute) = (i64::from(at.hour()), i64::from(at.minute()));
        let text = format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{:02}Z", at.second());
        record([
            ("now", Value::new_datetime(text)),
            ("epoch", Value::new_long(seconds)),
            ("date", Value::new_long(year * 10_000 + month * 100 + day)),
            ("clock", Value::new_long(hour * 100 + minute)),
            ("weekday", self.reference(&self.weekday, weekday(at.weekday()))),
        ])
    }

    fn delegation(&self, behind: &Behind) -> Option<Value> {
        let (first, last) = (behind.hops.first()?, behind.hops.last()?);
        let cards: Vec<String> = behind.hops.iter().map(|(.., card)| card.clone()).collect();
        record([
            ("depth", Value::new_long(i64::try_from(behind.hops.len()).ok()?)),
            ("root", Value::new_string(behind.root.clone())),
            ("first", self.reference(&self.principal, &first.0)),
            ("last", self.reference(&self.principal, &last.0)),
            ("cards", texts(&cards)),
        ])
    }

    /// Each type of values is the tags of one entity.
    fn metadata(&self, of: &Metadata, place: &str, entities: &mut Vec<Entity>) -> Option<Value> {
        let mut tagged = |kind: &EntityTypeName, tags: Vec<(String, Value)>| {
            let uid = self.uid(kind, place);
            entities.push(Entity::new_with_tags(uid.clone(), [], [], tags).ok()?);
            Some(Value::new_entity_uid(uid))
        };
        let text = of.text.iter().map(|(name, text)| (name.clone(), Value::new_string(text.clone()))).collect();
        let number = of.number.iter().map(|(name, number)| (name.clone(), Value::new_long(*number))).collect();
        let flag = of.flag.iter().map(|(name, flag)| (name.clone(), Value::new_bool(*flag))).collect();
        let list = of.list.iter().map(|(name, items)| (name.clone(), texts(items))).collect();
        record([
            ("keys", texts(&of.keys)),
            ("text", tagged(&self.texts, text)?),
            ("number", tagged(&self.numbers, number)?),
            ("flag", tagged(&self.flags, flag)?),
            ("list", tagged(&self.lists, list)?),
        ])
    }
}

fn record<const N: usize>(pairs: Pairs<N>) -> Option<Value> {
    Value::new_record(pairs.map(|(name, value)| (name.to_owned(), value))).ok()
}

fn texts(all: &[String]) -> Value {
    Value::new_set(all.iter().map(|text| Value::new_string(text.clone())))
}

const fn weekday(day: Weekday) -> &'static str {
    match day {
        Weekday::Monday => "monday",
        Weekday::Tuesday => "tuesday",
        Weekday::Wednesday => "wednesday",
        Weekday::Thursday => "thursday",
        Weekday::Friday => "friday",
        Weekday::Saturday => "saturday",
        Weekday::Sunday => "sunday",
    }
}
