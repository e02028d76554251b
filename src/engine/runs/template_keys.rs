//! Owns the values of the keys `__studio_*` in templates: thread, time, time zone, language.

use jiff::tz::TimeZone;

use crate::config::time_zone;
use crate::engine::world::World;
use crate::model::run::{Lane, Run};
use crate::model::template_text::System;

/// The `__studio_*` keys of templates at this moment.
pub(in crate::engine) fn system(run: &Run, lane: &Lane, world: &World) -> System {
    let own = |key: &str| lane.state.get(key).and_then(|value| value.as_str());
    let zone = own("__studio_timezone").unwrap_or(&world.config.timezone);
    System {
        thread_id: run.created.thread,
        now: world.clock.now(),
        timezone: time_zone(zone).unwrap_or(TimeZone::UTC),
        locale: own("__studio_locale").unwrap_or(&world.config.locale).into(),
    }
}

impl Run {
    pub(in crate::engine) fn system(&self, lane: &Lane, world: &World) -> System {
        system(self, lane, world)
    }
}
