//! A second evaluator, as plain as can be, over `serde_json` values: paths are made as trees, printed
//! as text for the one and walked for the other.

use std::cmp::Ordering;

use proptest::prelude::*;
use serde_json::{Value, json};

#[derive(Clone, Debug)]
pub(super) struct Path(pub(super) Vec<(bool, Vec<Sel>)>);

#[derive(Clone, Debug)]
pub(super) enum Sel {
    Name(&'static str),
    Wild,
    Index(i64),
    Slice(Option<i64>, Option<i64>, Option<i64>),
    Filter(Test),
}

#[derive(Clone, Debug)]
pub(super) enum Test {
    Or(Box<Self>, Box<Self>),
    And(Box<Self>, Box<Self>),
    Not(Box<Self>),
    Exists(bool, Path),
    Compare(FilterTerm, &'static str, FilterTerm),
    Search(FilterTerm, &'static str),
    Match(FilterTerm, &'static str),
}

#[derive(Clone, Debug)]
pub(super) enum FilterTerm {
    Literal(Value),
    Single(bool, Vec<Sel>),
    Length(Box<Self>),
    Count(bool, Path),
    Value(bool, Path),
}

impl Path {
    pub(super) fn text(&self) -> String {
        self.behind("$")
    }

    fn behind(&self, origin: &str) -> String {
        let mut out = origin.to_owned();
        for (deep, selectors) in &self.0 {
            out += if *deep { "..[" } else { "[" };
            out += &selectors.iter().map(Sel::text).collect::<Vec<_>>().join(", ");
            out += "]";
        }
        out
    }
}

fn origin(root: bool) -> &'static str {
    if root { "$" } else { "@" }
}

impl Sel {
    fn text(&self) -> String {
        let part = |it: &Option<i64>| it.map_or(String::new(), |it| it.to_string());
        match self {
            Self::Name(name) => format!("'{name}'"),
            Self::Wild => "*".into(),
            Self::Index(index) => index.to_string(),
            Self::Slice(a, b, c) => format!("{}:{}:{}", part(a), part(b), part(c)),
            Self::Filter(test) => format!("?{}", test.text()),
        }
    }
}

impl Test {
    fn text(&self) -> String {
        match self {
            Self::Or(a, b) => format!("({} || {})", a.text(), b.text()),
            Self::And(a, b) => format!("({}&&{})", a.text(), b.text()),
            Self::Not(a) => format!("!({})", a.text()),
            Self::Exists(root, path) => path.behind(origin(*root)),
            Self::Compare(a, operator, b) => format!("{}{operator}{}", a.text(), b.text()),
            Self::Search(a, pattern) => format!("search({},'{pattern}')", a.text()),
            Self::Match(a, pattern) => format!("match({},'{pattern}')", a.text()),
        }
    }
}

impl FilterTerm {
    fn text(&self) -> String {
        match self {
            Self::Literal(value) => value.to_string(),
            Self::Single(root, steps) => {
                let path = Path(steps.iter().map(|it| (false, vec![it.clone()])).collect());
                path.behind(origin(*root))
            }
            Self::Length(term) => format!("length({})", term.text()),
            Self::Count(root, path) => format!("count({})", path.behind(origin(*root))),
            Self::Value(root, path) => format!("value({})", path.behind(origin(*root))),
        }
    }
}

/// Every value that the path selects, with its normalised path.
pub(super) type Nodes<'v> = Vec<(String, &'v Value)>;

pub(super) fn select<'v>(path: &Path, root: &'v Value) -> Nodes<'v> {
    run(path, "$".into(), root, root)
}

fn run<'v>(path: &Path, at: String, from: &'v Value, root: &'v Value) -> Nodes<'v> {
    let mut nodes = vec![(at, from)];
    for (deep, selectors) in &path.0 {
        let mut next = Vec::new();
        for (at, node) in nodes {
            let mut inputs = vec![(at, node)];
            if *deep {
                let mut all = Vec::new();
                descend(inputs.remove(0), &mut all);
                inputs = all;
            }
            for (at, node) in inputs {
                for selector in selectors {
                    apply(selector, &at, node, root, &mut next);
                }
            }
        }
        nodes = next;
    }
    nodes
}

fn descend<'v>(node: (String, &'v Value), out: &mut Nodes<'v>) {
    let below = children(&node.0, node.1);
    out.push(node);
    for child in below {
        descend(child, out);
    }
}

fn children<'v>(at: &str, node: &'v Value) -> Nodes<'v> {
    match node {
        Value::Array(list) => {
            list.iter().enumerate().map(|(i, it)| (format!("{at}[{i}]"), it)).collect()
        }
        Value::Object(map) => map.iter().map(|(key, it)| (format!("{at}['{key}']"), it)).collect(),
        _ => vec![],
    }
}

fn apply<'v>(selector: &Sel, at: &str, node: &'v Value, root: &'v Value, out: &mut Nodes<'v>) {
    let list = node.as_array();
    let len = i64::try_from(list.map_or(0, Vec::len)).unwrap();
    let element = |index: i64| {
        let index = usize::try_from(index).unwrap();
        (format!("{at}[{index}]"), &list.unwrap()[index])
    };
    match selector {
        Sel::Name(name) => {
            out.extend(
                node.get(name)
                    .filter(|_| node.is_object())
                    .map(|it| (format!("{at}['{name}']"), it)),
            );
        }
        Sel::Wild => out.extend(children(at, node)),
        Sel::Index(index) => {
            let index = if *index < 0 { index + len } else { *index };
            if (0..len).contains(&index) {
                out.push(element(index));
            }
        }
        Sel::Slice(start, end, step) => {
            let step = step.unwrap_or(1);
            let normal = |it: i64| if it < 0 { it + len } else { it };
            if step > 0 {
                let start = normal(start.unwrap_or(0));
                let end = normal(end.unwrap_or(len));
                let mut i = start.max(0);
                while i < end.min(len) {
                    out.push(element(i));
                    i += step;
                }
            } else if step < 0 {
                let mut i = normal(start.unwrap_or(len - 1)).min(len - 1);
                let end = end.map_or(-1, |it| normal(it).max(-1));
                while i > end {
                    out.push(element(i));
                    i += step;
                }
            }
        }
        Sel::Filter(test) => {
            out.extend(children(at, node).into_iter().filter(|(_, it)| holds(test, it, root)));
        }
    }
}

fn holds(test: &Test, current: &Value, root: &Value) -> bool {
    let text = |term: &FilterTerm| {
        value(term, current, root).and_then(|it| it.as_str().map(str::to_owned))
    };
    match test {
        Test::Or(a, b) => holds(a, current, root) || holds(b, current, root),
        Test::And(a, b) => holds(a, current, root) && holds(b, current, root),
        Test::Not(a) => !holds(a, current, root),
        Test::Exists(from_root, path) => !query(*from_root, path, current, root).is_empty(),
        // The patterns are plain words.
        Test::Search(term, pattern) => text(term).is_some_and(|it| it.contains(pattern)),
        Test::Match(term, pattern) => text(term).is_some_and(|it| it == *pattern),
        Test::Compare(a, operator, b) => {
            let a = value(a, current, root);
            let b = value(b, current, root);
            let order = match (&a, &b) {
                (Some(Value::Number(a)), Some(Value::Number(b))) => {
                    a.as_f64().partial_cmp(&b.as_f64())
                }
                (Some(Value::String(a)), Some(Value::String(b))) => Some(a.chars().cmp(b.chars())),
                _ => None,
            };
            let equal = order.map_or(a == b, Ordering::is_eq);
            match *operator {
                "==" => equal,
                "!=" => !equal,
                "<" => order == Some(Ordering::Less),
                ">" => order == Some(Ordering::Greater),
                "<=" => order == Some(Ordering::Less) || equal,
                _ => order == Some(Ordering::Greater) || equal,
            }
        }
    }
}

fn query<'v>(from_root: bool, path: &Path, current: &'v Value, root: &'v Value) -> Nodes<'v> {
    run(path, String::new(), if from_root { root } else { current }, root)
}

fn value(term: &FilterTerm, current: &Value, root: &Value) -> Option<Value> {
    match term {
        FilterTerm::Literal(value) => Some(value.clone()),
        FilterTerm::Single(from_root, steps) => {
            let path = Path(steps.iter().map(|it| (false, vec![it.clone()])).collect());
            query(*from_root, &path, current, root).pop().map(|(_, it)| it.clone())
        }
        FilterTerm::Length(term) => match value(term, current, root)? {
            Value::String(text) => Some(json!(text.chars().count())),
            Value::Array(list) => Some(json!(list.len())),
            Value::Object(map) => Some(json!(map.len())),
            _ => None,
        },
        FilterTerm::Count(from_root, path) => {
            Some(json!(query(*from_root, path, current, root).len()))
        }
        FilterTerm::Value(from_root, path) => {
            match query(*from_root, path, current, root).as_slice() {
                [(_, only)] => Some((*only).clone()),
                _ => None,
            }
        }
    }
}

const NAMES: [&str; 4] = ["a", "b", "c", "length"];

fn scalar() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2_i64..4).prop_map(Value::from),
        prop::sample::select(&[0.5, 1.5, 2.25, -0.5][..]).prop_map(Value::from),
        prop::sample::select(&["", "a", "ab", "b", "é", "\u{10000}", "\u{ffff}"][..])
            .prop_map(Value::from),
    ]
}

pub(super) fn document() -> impl Strategy<Value = Value> {
    scalar().prop_recursive(5, 60, 6, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..6).prop_map(Value::from),
            prop::collection::vec((prop::sample::select(&NAMES[..]), inner), 0..5).prop_map(|it| {
                Value::Object(it.into_iter().map(|(key, value)| (key.to_owned(), value)).collect())
            }),
        ]
    })
}

pub(super) fn path() -> impl Strategy<Value = Path> {
    paths(2)
}

fn paths(depth: u32) -> BoxedStrategy<Path> {
    let plain = prop_oneof![
        4 => prop::sample::select(&NAMES[..]).prop_map(Sel::Name),
        3 => Just(Sel::Wild),
        2 => (-3_i64..4).prop_map(Sel::Index),
        2 => (small(), small(), small()).prop_map(|(a, b, c)| Sel::Slice(a, b, c)),
    ];
    let selector = if depth == 0 {
        plain.boxed()
    } else {
        prop_oneof![3 => plain, 2 => tests(depth - 1).prop_map(Sel::Filter)].boxed()
    };
    let selectors = prop_oneof![
        3 => selector.clone().prop_map(|it| vec![it]),
        1 => prop::collection::vec(selector, 1..4),
    ];
    prop::collection::vec((prop::bool::weighted(0.25), selectors), 0..4).prop_map(Path).boxed()
}

fn small() -> impl Strategy<Value = Option<i64>> {
    prop::option::of(-4_i64..5)
}

fn tests(depth: u32) -> BoxedStrategy<Test> {
    let operator = prop::sample::select(&["==", "!=", "<", ">", "<=", ">="][..]);
    let word = prop::sample::select(&["a", "ab", "b"][..]);
    let leaf = prop_oneof![
        3 => (any::<bool>(), paths(depth)).prop_map(|(root, path)| Test::Exists(root, path)),
        5 => (terms(depth), operator, terms(depth)).prop_map(|(a, o, b)| Test::Compare(a, o, b)),
        1 => (terms(depth), word.clone()).prop_map(|(a, word)| Test::Search(a, word)),
        1 => (terms(depth), word).prop_map(|(a, word)| Test::Match(a, word)),
    ];
    leaf.prop_recursive(2, 6, 2, |inner| {
        let inner = inner.prop_map(Box::new);
        prop_oneof![
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Test::Or(a, b)),
            (inner.clone(), inner.clone()).prop_map(|(a, b)| Test::And(a, b)),
            inner.prop_map(Test::Not),
        ]
    })
    .boxed()
}

fn terms(depth: u32) -> BoxedStrategy<FilterTerm> {
    let step = prop_oneof![
        prop::sample::select(&NAMES[..]).prop_map(Sel::Name),
        (-2_i64..3).prop_map(Sel::Index),
    ];
    let single = (prop::bool::weighted(0.2), prop::collection::vec(step, 0..3));
    let single = single.prop_map(|(root, steps)| FilterTerm::Single(root, steps));
    let path = || (prop::bool::weighted(0.2), paths(depth));
    prop_oneof![
        3 => scalar().prop_map(FilterTerm::Literal),
        4 => single.clone(),
        1 => single.prop_map(|it| FilterTerm::Length(Box::new(it))),
        1 => path().prop_map(|(root, path)| FilterTerm::Count(root, path)),
        1 => path().prop_map(|(root, path)| FilterTerm::Value(root, path)),
    ]
    .boxed()
}
