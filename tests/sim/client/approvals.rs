//! Deciding gated calls.

use wire::{ApproveRequest, ListSessionsRequest, Session};

use super::{ATTEMPTS, Client, uid_of};
use crate::scene::Scene;

impl Client {
    /// Decides one of the calls that wait, and lets the turn go on. A decision that was not answered is repeated, and says
    /// the same again.
    pub(super) async fn decide(&self) {
        let request = ListSessionsRequest { pending_only: true, ..ListSessionsRequest::default() };
        let listed = self.caller.call(self.any_node(), |host, _| async move { host.list(request).await }).await;
        self.note("lists what waits", &listed);
        let waiting = listed.map(|listed| listed.sessions).unwrap_or_default();
        if waiting.is_empty() {
            return;
        }
        let session = self.dice.pick(&waiting);
        if self.decide_on(session).await {
            self.resume(uid_of(session)).await;
        }
    }

    async fn decide_on(&self, session: &Session) -> bool {
        let Some(request) = self.decision(session) else { return false };
        let witness = &self.cluster.world.witness;
        let approves = request.approved == Some(true);
        for _ in 0..ATTEMPTS {
            let (asked, request) = (witness.head(&request.session), request.clone());
            let what = format!("decides {} in {}", request.tool_call_id, request.session);
            let decided = self.caller.call(self.any_node(), |host, _| async move { host.approve(request).await }).await;
            self.note(&what, &decided);
            match decided {
                Ok(decided) => {
                    let (session, decision) = (decided.session.unwrap_or_default(), decided.decision);
                    witness.acknowledged(uid_of(&session), &decision.unwrap_or_default());
                    witness.play(if approves { Scene::ApprovedCall } else { Scene::DeniedCall });
                    witness.answered(&session, asked);
                    return true;
                }
                Err(failed) if failed.is_refusal() => return false,
                Err(_) => {}
            }
        }
        false
    }

    fn decision(&self, session: &Session) -> Option<ApproveRequest> {
        let gate = session.pending_approval.clone()?;
        Some(ApproveRequest {
            session: uid_of(session).to_owned(),
            execution_id: gate.execution_id,
            tool_call_id: gate.tool_call_id,
            request_seq: gate.request_seq,
            approved: Some(self.dice.chance(0.7)),
            reason: self.name.clone(),
            identity: None,
        })
    }
}
