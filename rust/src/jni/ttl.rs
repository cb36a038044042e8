//! Natives of the time to live: the rule of a state and what time it is. No logic.
use super::db::on_db;
use super::guard::{cold, hot};
use super::state::on_state;
use super::{arrays, native, Native};
use crate::db::TtlRule;
use crate::state::ttl_kind;
use jni_sys::{jbyteArray, jclass, jint, jlong, JNIEnv};

#[allow(clippy::too_many_arguments)] // Java's signature
extern "system" fn ttl_configure(
    env: *mut JNIEnv,
    _: jclass,
    state: jlong,
    kind: jint,
    ttl_millis: jlong,
    query_time_after: jlong,
    element_layout: jbyteArray,
    compact_every: jlong,
) {
    cold(env, (), |env| {
        let layout = arrays::bytes(env, element_layout)?.unwrap_or_default();
        let rule = TtlRule { kind: ttl_kind(kind)?, ttl_millis, query_time_after, layout };
        on_state(state, |state| state.expire_by(&rule, u64::try_from(compact_every).ok()))
    });
}

extern "system" fn ttl_time(env: *mut JNIEnv, _: jclass, db: jlong, millis: jlong) {
    hot(env, (), || {
        on_db(db, |db| {
            db.ttl_clock().set(millis);
            Ok(())
        })
    });
}

extern "system" fn ttl_system_time(env: *mut JNIEnv, _: jclass, db: jlong) {
    hot(env, (), || {
        on_db(db, |db| {
            db.ttl_clock().use_system();
            Ok(())
        })
    });
}

pub(super) fn natives() -> Vec<Native> {
    vec![
        native!(c"ttlConfigure", c"(JIJJ[BJ)V", ttl_configure),
        native!(c"ttlTime", c"(JJ)V", ttl_time),
        native!(c"ttlSystemTime", c"(J)V", ttl_system_time),
    ]
}
