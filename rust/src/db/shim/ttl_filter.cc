// The compaction filter of one column family and the clock of one database, as RocksDB and Rust see
// them. What is dropped is ttl_decision's business. Called by RocksDB's threads: never throws, never
// calls Rust or Java.
#include <atomic>
#include <chrono>
#include <cstdint>
#include <limits>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <utility>

#include "c_api.h"
#include "rocksdb/compaction_filter.h"
#include "ttl_decision.h"

namespace {

using ferrostate::Decide;
using ferrostate::TtlConfig;
using ferrostate::TtlDecision;
using ferrostate::TtlKind;
using ROCKSDB_NAMESPACE::CompactionFilter;
using ROCKSDB_NAMESPACE::CompactionFilterFactory;
using ROCKSDB_NAMESPACE::Slice;

// Milliseconds as Java set them, or those of the system: System.currentTimeMillis reads the same clock.
// Before the first time is set nothing expires.
class Clock {
 public:
  void Set(int64_t millis) {
    millis_.store(millis);
    system_.store(false);
  }

  void UseSystem() { system_.store(true); }

  int64_t Now() const {
    if (!system_.load()) {
      return millis_.load();
    }
    auto now = std::chrono::system_clock::now().time_since_epoch();
    return std::chrono::duration_cast<std::chrono::milliseconds>(now).count();
  }

 private:
  std::atomic<int64_t> millis_{std::numeric_limits<int64_t>::min()};
  std::atomic<bool> system_{false};
};

// What the states registered last: read when a compaction begins, replaced as a whole. Null: disabled.
class Holder {
 public:
  void Set(std::shared_ptr<const TtlConfig> config) {
    std::lock_guard<std::mutex> lock(mutex_);
    config_ = std::move(config);
  }

  std::shared_ptr<const TtlConfig> Get() const {
    std::lock_guard<std::mutex> lock(mutex_);
    return config_;
  }

 private:
  mutable std::mutex mutex_;
  std::shared_ptr<const TtlConfig> config_;
};

// Of one (sub)compaction, so of one thread.
class Filter : public CompactionFilter {
 public:
  Filter(std::shared_ptr<const TtlConfig> config, std::shared_ptr<const Clock> clock)
      : config_(std::move(config)), clock_(std::move(clock)) {}

  const char* Name() const override { return "FerrostateTtlFilter"; }

  Decision FilterV2(int, const Slice&, ValueType type, const Slice& value, std::string* changed,
                    std::string*) const override {
    if (type != kValue && type != kMergeOperand) {
      return Decision::kKeep;
    }
    TtlDecision decision =
        Decide(*config_, Now(), type == kMergeOperand,
               reinterpret_cast<const uint8_t*>(value.data()), value.size());
    switch (decision.action) {
      case TtlDecision::kRemove:
        return Decision::kRemove;
      case TtlDecision::kCut:
        return Cut(value, decision.from, changed);
      case TtlDecision::kKeep:
        break;
    }
    return Decision::kKeep;
  }

 private:
  static Decision Cut(const Slice& value, size_t from, std::string* changed) noexcept {
    try {
      changed->assign(value.data() + from, value.size() - from);
      return Decision::kChangeValue;
    } catch (...) {
      return Decision::kKeep;  // no memory for it now
    }
  }

  int64_t Now() const {
    if (entries_left_ <= 0) {
      now_ = clock_->Now();
      entries_left_ = config_->query_time_after;
    }
    entries_left_--;
    return now_;
  }

  const std::shared_ptr<const TtlConfig> config_;
  const std::shared_ptr<const Clock> clock_;
  mutable int64_t now_ = 0;
  mutable int64_t entries_left_ = 0;
};

class Factory : public CompactionFilterFactory {
 public:
  Factory(std::shared_ptr<const Holder> holder, std::shared_ptr<const Clock> clock)
      : holder_(std::move(holder)), clock_(std::move(clock)) {}

  const char* Name() const override { return "FerrostateTtlFilterFactory"; }

  // A compaction without a filter costs what it costs without a factory.
  std::unique_ptr<CompactionFilter> CreateCompactionFilter(
      const CompactionFilter::Context&) override {
    std::shared_ptr<const TtlConfig> config = holder_->Get();
    if (config == nullptr) {
      return nullptr;
    }
    return std::unique_ptr<CompactionFilter>(new (std::nothrow) Filter(std::move(config), clock_));
  }

 private:
  const std::shared_ptr<const Holder> holder_;
  const std::shared_ptr<const Clock> clock_;
};

}  // namespace

extern "C" {

struct ferrostate_ttl_clock {
  std::shared_ptr<Clock> clock;
};

struct ferrostate_ttl_filter {
  std::shared_ptr<Holder> holder;
  std::shared_ptr<CompactionFilterFactory> factory;
};

ferrostate_ttl_clock* ferrostate_ttl_clock_create(char** error) {
  return ferrostate::Fenced(error, static_cast<ferrostate_ttl_clock*>(nullptr), [] {
    return new ferrostate_ttl_clock{std::make_shared<Clock>()};
  });
}

void ferrostate_ttl_clock_destroy(ferrostate_ttl_clock* clock) { delete clock; }

void ferrostate_ttl_clock_set(ferrostate_ttl_clock* clock, int64_t millis) {
  clock->clock->Set(millis);
}

void ferrostate_ttl_clock_use_system(ferrostate_ttl_clock* clock) { clock->clock->UseSystem(); }

// Disabled until it is configured.
ferrostate_ttl_filter* ferrostate_ttl_filter_create(ferrostate_ttl_clock* clock, char** error) {
  return ferrostate::Fenced(error, static_cast<ferrostate_ttl_filter*>(nullptr), [clock] {
    auto holder = std::make_shared<Holder>();
    auto factory = std::make_shared<Factory>(holder, clock->clock);
    return new ferrostate_ttl_filter{std::move(holder), std::move(factory)};
  });
}

// The filter lives on in the column families that were opened with it.
void ferrostate_ttl_filter_destroy(ferrostate_ttl_filter* filter) { delete filter; }

void ferrostate_ttl_filter_install(ferrostate_ttl_filter* filter, rocksdb_options_t* options) {
  options->rep.compaction_filter_factory = filter->factory;
}

// Compactions that begin from now on go by it. False leaves the filter as it was.
bool ferrostate_ttl_filter_configure(ferrostate_ttl_filter* filter, int32_t kind,
                                     int64_t ttl_millis, int64_t query_time_after,
                                     const uint8_t* layout, size_t layout_length, char** error) {
  return ferrostate::Fenced(error, false, [&] {
    if (kind < 0 || kind > static_cast<int32_t>(TtlKind::kList)) {
      ferrostate::Fail(error, "no such kind of state with a time to live");
      return false;
    }
    if (kind == static_cast<int32_t>(TtlKind::kDisabled)) {
      filter->holder->Set(nullptr);
      return true;
    }
    if (ttl_millis <= 0) {
      ferrostate::Fail(error, "the time to live is not positive");
      return false;
    }
    auto config = std::make_shared<TtlConfig>();
    config->kind = static_cast<TtlKind>(kind);
    config->ttl_millis = ttl_millis;
    config->query_time_after = query_time_after;
    if (layout_length > 0 && !config->layout.Parse(layout, layout_length)) {
      ferrostate::Fail(error, "the description of the list's elements is malformed");
      return false;
    }
    filter->holder->Set(std::move(config));
    return true;
  });
}

// ---- for tests: what a compaction does, one value at a time ----------------------------------------

struct ferrostate_ttl_pass {
  std::unique_ptr<CompactionFilter> filter;
};

// A compaction begins. It has no filter when the state has no rule.
ferrostate_ttl_pass* ferrostate_ttl_pass_begin(ferrostate_ttl_filter* filter, char** error) {
  return ferrostate::Fenced(error, static_cast<ferrostate_ttl_pass*>(nullptr), [filter] {
    return new ferrostate_ttl_pass{filter->factory->CreateCompactionFilter({})};
  });
}

void ferrostate_ttl_pass_end(ferrostate_ttl_pass* pass) { delete pass; }

// 0 keep, 1 remove, 2 cut: the last `kept` bytes stay. -1: it decided what it must not.
int32_t ferrostate_ttl_pass_decide(ferrostate_ttl_pass* pass, bool is_operand,
                                   const uint8_t* value, size_t length, size_t* kept,
                                   char** error) {
  return ferrostate::Fenced(error, int32_t{-1}, [&] {
    if (pass->filter == nullptr) {
      return int32_t{0};
    }
    std::string changed;
    std::string skip_until;
    Slice existing(reinterpret_cast<const char*>(value), length);
    auto type = is_operand ? CompactionFilter::kMergeOperand : CompactionFilter::kValue;
    switch (pass->filter->FilterV2(0, "key", type, existing, &changed, &skip_until)) {
      case CompactionFilter::Decision::kKeep:
        return int32_t{0};
      case CompactionFilter::Decision::kRemove:
        return int32_t{1};
      case CompactionFilter::Decision::kChangeValue:
        *kept = changed.size();
        return int32_t{existing.ends_with(changed) ? 2 : -1};
      default:
        return int32_t{-1};
    }
  });
}

}  // extern "C"
