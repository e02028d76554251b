//! Owns the thread of a client's chat.

use serde_json::json;

use crate::model::Id;

/// The thread of a chat: its id when that is a UUID, else one that is made of tenant, agent or workflow, and id.
pub(super) fn thread_of_chat(tenant: &str, entity: &Id, chat: &str) -> Id {
    if let (36, Ok(id)) = (chat.len(), chat.parse()) {
        return id;
    }
    let name = json!([tenant, entity, chat]).to_string();
    Id(uuid::Uuid::new_v5(&uuid::Uuid::NAMESPACE_URL, name.as_bytes()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chats_of_other_tenants_and_agents_have_other_threads() {
        let (one, two) = (Id::v7(1, 2, 3), Id::v7(4, 5, 6));
        let thread = thread_of_chat("a", &one, "chat");
        assert_eq!(thread, thread_of_chat("a", &one, "chat"));
        assert_eq!(thread.0.get_version_num(), 5);
        for other in
            [thread_of_chat("b", &one, "chat"), thread_of_chat("a", &two, "chat"), thread_of_chat("a", &one, "chat2"), thread_of_chat("", &one, "achat")]
        {
            assert_ne!(thread, other);
        }
        assert_eq!(thread_of_chat("a", &one, &two.to_string()), two, "a UUID is the thread itself");
        let bare = two.to_string().replace('-', "");
        assert_ne!(thread_of_chat("a", &one, &bare), two, "in its usual form only");
    }
}
