//! Owns the values of the keys `__studio_*` in templates: thread, time, time zone, language.

use jiff::tz::TimeZone;

use crate::config::time_zone;
use crate::engine::world::World;
use crate::model::run::{Lane, Run};
use crate::model::template_text::System;

/// The `__studio_*` keys of templates in a lane: the time is that at which its step began, also when the step is entered again.
pub(in crate::engine) fn system(run: &Run, lane: &Lane, world: &World) -> System {
    let own = |key: &str| lane.state.get(key).and_then(|value| value.as_str());
    let zone = own("__studio_timezone").unwrap_or(&world.config.timezone);
    System {
        thread_id: run.created.thread,
        now: lane.step.as_deref().map_or_else(|| world.clock.now(), |step| step.started_at),
        timezone: time_zone(zone).unwrap_or(TimeZone::UTC),
        locale: own("__studio_locale").unwrap_or(&world.config.locale).into(),
    }
}

impl Run {
    pub(in crate::engine) fn system(&self, lane: &Lane, world: &World) -> System {
        system(self, lane, world)
    }
}
