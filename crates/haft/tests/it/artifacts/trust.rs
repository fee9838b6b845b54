use std::sync::Arc;

use haft::Tool;
use haft::artifacts::{ArtifactDraft, ArtifactKind};
use haft::records::{Record as _, ToolCall, ToolResults};
use haft::stores::DirSpoolStore;
use haft::tools::OnCollision;
use haft::tools::Spooler;
use haft::trust::TrustTier;
use proptest::prelude::*;

use super::Turn;

const TIERS: [TrustTier; 3] =
    [TrustTier::FirstParty, TrustTier::ThirdPartyPrivate, TrustTier::ThirdPartyPublic];

fn tool(trusted: bool, tier: Option<TrustTier>) -> Tool {
    let builder = Tool::builder("fetch").description("Fetches.").on_collision(OnCollision::Replace);
    let builder = if trusted { builder.trusted() } else { builder };
    let draft = move || {
        let draft = ArtifactDraft::new(ArtifactKind::TEXT, "text");
        match tier {
            Some(tier) => draft.with_label(tier),
            None => draft,
        }
    };
    builder.handler(draft).build().unwrap()
}

/// Less trusted comes later.
fn rank(label: TrustTier) -> usize {
    TIERS.iter().position(|tier| *tier == label).unwrap()
}

#[tokio::test]
async fn an_answer_is_trusted_as_far_as_its_source() {
    for (trusted, tier, expected) in [
        (true, None, TrustTier::FirstParty),
        (true, Some(TrustTier::ThirdPartyPrivate), TrustTier::ThirdPartyPrivate),
        (true, Some(TrustTier::ThirdPartyPublic), TrustTier::ThirdPartyPublic),
        (false, None, TrustTier::ThirdPartyPublic),
        (false, Some(TrustTier::FirstParty), TrustTier::ThirdPartyPublic),
    ] {
        let mut turn = Turn::new();
        let source = turn.call(&tool(trusted, tier), "{}").await;
        let id = turn.ctx.artifacts().handles_of(source.id()).remove(0);
        let head = turn.forged().find("artifact_read").unwrap();
        let answer = turn.call(&head, &format!(r#"{{"callId":"{id}"}}"#)).await;
        assert_eq!(answer.label(), expected, "{trusted} {tier:?}");
        // What went wrong is never trusted.
        let refused = turn.call(&head, &format!(r#"{{"callId":"{id}","section":"x"}}"#)).await;
        assert!(!refused.label().is_trusted());
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(haft_testkit::cases(64)))]

    /// Artifacts made from artifacts, kept and loaded again, queried: nothing raises a tier.
    #[test]
    fn no_sequence_raises_a_tier(
        first in 0..3_usize,
        steps in prop::collection::vec((any::<bool>(), prop::option::of(0..3_usize), any::<bool>()), 0..8),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
        runtime.block_on(async {
            let folder = tempfile::tempdir().unwrap();
            let mut turn = Turn::new();
            let store = DirSpoolStore::open(folder.path()).unwrap();
            turn.spooler = Spooler::new(Arc::new(store));
            let mut source = turn.call(&tool(true, Some(TIERS[first])), "{}").await;
            let mut lowest = first;
            for (trusted, tier, reload) in steps {
                let Some(ToolResults::Artifacts(all)) = &source.results else { unreachable!() };
                let mut held = all[0].clone();
                assert!(rank(held.label()) >= lowest);
                if reload {
                    let mut call = source.clone();
                    call.results = Some(ToolResults::Artifacts(vec![held.clone()]));
                    let read = ToolCall::from_json(&call.to_json().unwrap()).unwrap();
                    let Some(ToolResults::Artifacts(mut all)) = read.results else { unreachable!() };
                    held = all.remove(0).read_by(Arc::clone(held.reader()));
                }
                lowest = rank(held.label());
                let made = move || {
                    let draft = match tier {
                        None => ArtifactDraft::from(held.clone()),
                        Some(tier) => ArtifactDraft::new(ArtifactKind::TEXT, "made")
                            .derived_from(&held)
                            .with_label(TIERS[tier]),
                    };
                    vec![draft]
                };
                let step = Tool::builder("step").description("Makes one of another.");
                let step = if trusted { step.trusted() } else { step };
                source = turn.call(&step.handler(made).build().unwrap(), "{}").await;
                let id = turn.ctx.artifacts().handles_of(source.id()).remove(0);
                let head = turn.forged().find("artifact_read").unwrap();
                let answer = turn.call(&head, &format!(r#"{{"callId":"{id}"}}"#)).await;
                assert!(rank(answer.label()) >= lowest, "{:?} after {lowest}", answer.label());
            }
        });
    }
}
