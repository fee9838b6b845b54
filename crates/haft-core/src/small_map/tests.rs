use indexmap::IndexMap;
use proptest::prelude::*;

use super::SmallMap;

proptest! {
    /// Whatever is inserted and removed, the map is an index map, few entries or many.
    #[test]
    fn it_equals_an_index_map(changes in proptest::collection::vec((0_u8..4, 0_u8..40), 0..200)) {
        let (mut map, mut model) = (SmallMap::default(), IndexMap::new());
        for (n, (kind, key)) in changes.into_iter().enumerate() {
            match kind {
                0 => prop_assert_eq!(map.remove(&key), model.shift_remove(&key)),
                _ => prop_assert_eq!(map.insert(key, n), model.insert(key, n)),
            }
            prop_assert_eq!(map.get(&key), model.get(&key));
            prop_assert_eq!(map.len(), model.len());
            prop_assert_eq!(map.last(), model.last());
            prop_assert!(map.iter().eq(model.iter()), "after change {}", n);
        }
        let split = map.values().next().copied().unwrap_or_default();
        let expected = model.as_slice().partition_point(|_, it| *it <= split);
        prop_assert_eq!(map.partition_point(|it| *it <= split), expected);
        prop_assert!(map.into_entries().into_iter().eq(model));
    }
}
