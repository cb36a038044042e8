//! Log records wait in a bounded queue until Java drains them: Rust never calls Java. When the queue
//! is full the oldest record goes. Also remembers where a panic happened.
use crossbeam::queue::ArrayQueue;
use std::cell::RefCell;
use std::fmt::Write;
use std::sync::{Once, OnceLock};
use tracing::field::{Field, Visit};
use tracing::{span, Event, Level, Metadata, Subscriber};

const QUEUE: usize = 1024;

static RECORDS: OnceLock<ArrayQueue<String>> = OnceLock::new();
static INSTALL: Once = Once::new();

thread_local! {
    static PANIC_PLACE: RefCell<Option<String>> = const { RefCell::new(None) };
}

fn records() -> &'static ArrayQueue<String> {
    RECORDS.get_or_init(|| ArrayQueue::new(QUEUE))
}

/// Sends this library's log records to the queue, and panics' places too (nothing to stderr).
pub(super) fn install() {
    INSTALL.call_once(|| {
        let _ = tracing::subscriber::set_global_default(QueueSubscriber);
        std::panic::set_hook(Box::new(|info| {
            let place = info.location().map(ToString::to_string);
            records().force_push(format!("ERROR\tferrostate::panic\t{info}"));
            PANIC_PLACE.with(|slot| *slot.borrow_mut() = place);
        }));
    });
}

/// File and line of this thread's last panic.
pub(super) fn take_panic_place() -> Option<String> {
    PANIC_PLACE.with(|slot| slot.borrow_mut().take())
}

/// Up to `max` records, oldest first: `LEVEL\ttarget\ttext`.
pub(super) fn drain(max: usize) -> Vec<String> {
    std::iter::from_fn(|| records().pop()).take(max).collect()
}

struct QueueSubscriber;

impl Subscriber for QueueSubscriber {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        *metadata.level() <= Level::INFO && metadata.target().starts_with("ferrostate")
    }

    fn new_span(&self, _: &span::Attributes<'_>) -> span::Id {
        span::Id::from_u64(1)
    }

    fn record(&self, _: &span::Id, _: &span::Record<'_>) {}

    fn record_follows_from(&self, _: &span::Id, _: &span::Id) {}

    fn event(&self, event: &Event<'_>) {
        let metadata = event.metadata();
        let mut text = Text(format!("{}\t{}\t", metadata.level(), metadata.target()));
        event.record(&mut text);
        records().force_push(text.0);
    }

    fn enter(&self, _: &span::Id) {}

    fn exit(&self, _: &span::Id) {}
}

struct Text(String);

impl Visit for Text {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        // Writing to a String cannot fail.
        let _ = if field.name() == "message" {
            write!(self.0, "{value:?}")
        } else {
            write!(self.0, " {}={value:?}", field.name())
        };
    }
}
