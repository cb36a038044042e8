// The memtable of a column family: a log of its entries, a hash table over it for reads of single keys, and
// order only for those who ask: a sorted copy, or, where a memtable is iterated again and again while it is
// written (large maps, timers), a skip list over the log. docs/decisions/0011-memtable.md.
#include <mutex>
#include <string>
#include <unordered_map>

#include "c_api.h"
#include "db/lookup_key.h"
#include "memory/arena.h"
#include "memtable_hash.h"
#include "memtable_sorted.h"
#include "rocksdb/comparator.h"
#include "rocksdb/memtablerep.h"

namespace ferrostate {
namespace {

using ROCKSDB_NAMESPACE::Allocator;
using ROCKSDB_NAMESPACE::Arena;
using ROCKSDB_NAMESPACE::KeyHandle;
using ROCKSDB_NAMESPACE::Logger;
using ROCKSDB_NAMESPACE::LookupKey;
using ROCKSDB_NAMESPACE::MemTableRep;
using ROCKSDB_NAMESPACE::MemTableRepFactory;
using ROCKSDB_NAMESPACE::Slice;
using ROCKSDB_NAMESPACE::SliceTransform;
using ROCKSDB_NAMESPACE::Status;

// Places in log and hash are good for four times as much.
constexpr size_t kMostBytes = size_t{1} << 30;
// Entries that an iterator goes ahead of itself.
constexpr size_t kAhead = 8;

// What the memtables of a column family have learned for those that come.
struct History {
  // They are iterated while they are written.
  std::atomic<bool> ordered{false};
  std::atomic<size_t> keys{0};
};

// What the skip list holds.
struct Ordered {
  uint64_t front;
  const char* entry;

  static Ordered Of(const char* entry) { return {MemKey::OfEntry(entry).Front(), entry}; }
  static Ordered At(const char* from) {
    Ordered ordered;
    memcpy(&ordered, from, sizeof(ordered));
    return ordered;
  }
  const char* bytes() const { return reinterpret_cast<const char*>(this); }
  Slice slice() const { return Slice(bytes(), sizeof(*this)); }
};

class Order final : public MemTableRep::KeyComparator {
 public:
  DecodedType decode_key(const char* key) const override { return Slice(key, sizeof(Ordered)); }
  int operator()(const char* a, const char* b) const override {
    const Ordered left = Ordered::At(a);
    const Ordered right = Ordered::At(b);
    if (left.front != right.front) {
      return left.front < right.front ? -1 : 1;
    }
    return Compare(MemKey::OfEntry(left.entry), MemKey::OfEntry(right.entry));
  }
  int operator()(const char* a, const Slice& b) const override { return (*this)(a, b.data()); }
};

class Rep final : public MemTableRep {
 public:
  Rep(Allocator* allocator, std::shared_ptr<History> history)
      : MemTableRep(allocator),
        log_(allocator),
        hash_(&log_, allocator),
        history_(std::move(history)),
        expected_(history_->keys.load(std::memory_order_relaxed)),
        wants_list_(history_->ordered.load(std::memory_order_relaxed)) {}

  KeyHandle Allocate(const size_t length, char** buffer) override {
    *buffer = log_.Allocate(length);
    return *buffer;
  }

  void Insert(KeyHandle handle) override {
    if (list_owner_ == nullptr && wants_list_.load(std::memory_order_relaxed)) {
      MakeList();
    }
    hash_.Insert(log_.Publish(), expected_);
    if (list_owner_ != nullptr) {
      AddToList(static_cast<const char*>(handle));
    }
  }

  bool Contains(const char* key) const override {
    const MemKey wanted = MemKey::OfEntry(key);
    bool found = false;
    hash_.Versions(wanted, [&](const char* entry) {
      found = MemKey::OfEntry(entry).sequence == wanted.sequence;
      return false;
    });
    return found;
  }

  void Get(const LookupKey& key, void* argument,
           bool (*callback)(void*, const char*)) override {
    hash_.Versions(MemKey::OfInternal(key.internal_key()),
                   [&](const char* entry) { return callback(argument, entry); });
  }

  Status MultiGet(size_t count, const char* const* keys, void** arguments,
                  bool (*callback)(void*, const char*), bool, bool,
                  const std::function<Status(const char*, bool)>&) override {
    for (size_t n = 0; n < count; n++) {
      hash_.Versions(MemKey::OfEntry(keys[n]),
                     [&](const char* entry) { return callback(arguments[n], entry); });
    }
    return Status::OK();
  }

  void MarkReadOnly() override {
    read_only_.store(true, std::memory_order_relaxed);
    if (log_.count() > 0) {
      history_->keys.store(hash_.keys(), std::memory_order_relaxed);
      history_->ordered.store(iterated_.load(std::memory_order_relaxed) && wants_list_.load(),
                              std::memory_order_relaxed);
    }
  }

  void MarkFlushed() override {
    std::lock_guard<std::mutex> lock(mutex_);
    sorted_.reset();
  }

  uint64_t ApproximateNumEntries(const Slice& start, const Slice& end) override {
    const auto sorted = SortedNow();
    const size_t first = sorted->Seek(MemKey::OfInternal(start));
    return std::max(sorted->Seek(MemKey::OfInternal(end)), first) - first;
  }

  void UniqueRandomSample(const uint64_t, const uint64_t size,
                          std::unordered_set<const char*>* entries) override {
    const auto sorted = SortedNow();
    const size_t step = std::max<size_t>(sorted->size() / std::max<uint64_t>(size, 1), 1);
    for (size_t at = 0; at < sorted->size(); at += step) {
      entries->insert(sorted->Entry(at));
    }
  }

  // Besides what is in the arena.
  size_t ApproximateMemoryUsage() override { return bytes_.load(std::memory_order_relaxed); }

  MemTableRep::Iterator* GetIterator(Arena* arena) override;

  // ---- for iterators ------------------------------------------------------------------------------

  // Null: there is none. Has all that was inserted before it was asked for.
  MemTableRep* list() {
    iterated_.store(true, std::memory_order_relaxed);
    return list_.load(std::memory_order_acquire);
  }

  size_t count() const { return log_.count(); }

  // All entries there are, or more than there were at the call. When they had to be sorted more often than
  // a skip list would cost, the writer makes one.
  std::shared_ptr<const Sorted> SortedNow() {
    std::lock_guard<std::mutex> lock(mutex_);
    if (sorted_ == nullptr || sorted_->size() != log_.count()) {
      sorted_ = std::make_shared<Sorted>(log_, sorted_.get(), &bytes_);
      work_ += sorted_->size();
      if (!read_only_.load(std::memory_order_relaxed) && work_ > kMostWork * sorted_->size()) {
        wants_list_.store(true, std::memory_order_relaxed);
      }
    }
    return sorted_;
  }

 private:
  // Times that all entries are sorted or merged.
  static constexpr size_t kMostWork = 2;

  // By the writer.
  void MakeList() {
    list_owner_.reset(
        ROCKSDB_NAMESPACE::SkipListFactory().CreateMemTableRep(order_, allocator_, nullptr, nullptr));
    if (log_.count() > 0) {
      const auto sorted = SortedNow();
      for (size_t at = 0; at < sorted->size(); at++) {
        sorted->Prefetch(at + kAhead);
        AddToList(sorted->Entry(at));
      }
      std::lock_guard<std::mutex> lock(mutex_);
      sorted_.reset();
    }
    list_.store(list_owner_.get(), std::memory_order_release);
  }

  // Rows come in sorted batches: the hint is near.
  void AddToList(const char* entry) {
    const Ordered ordered = Ordered::Of(entry);
    char* key;
    const KeyHandle handle = list_owner_->Allocate(sizeof(ordered), &key);
    memcpy(key, &ordered, sizeof(ordered));
    list_owner_->InsertWithHint(handle, &hint_);
  }

  MemLog log_;
  MemHash hash_;
  const std::shared_ptr<History> history_;
  const size_t expected_;
  const Order order_;
  std::unique_ptr<MemTableRep> list_owner_;
  void* hint_ = nullptr;
  std::atomic<MemTableRep*> list_{nullptr};
  std::atomic<bool> wants_list_;
  std::atomic<bool> iterated_{false};
  std::atomic<bool> read_only_{false};
  std::atomic<size_t> bytes_{0};
  std::mutex mutex_;
  // Of all that was sorted: entries. Both under the mutex.
  size_t work_ = 0;
  std::shared_ptr<const Sorted> sorted_;
};

// Goes over the skip list, or a sorted copy. Nothing is sorted before it is positioned: where a filter says
// that there is nothing, it never is. All that is there by then is seen, which RocksDB has taken the sequence
// number of what it may show before.
class RepIterator final : public MemTableRep::Iterator {
 public:
  explicit RepIterator(Rep* rep) : rep_(rep) {}

  bool Valid() const override {
    return list_ != nullptr ? list_->Valid() : sorted_ != nullptr && at_ < sorted_->size();
  }

  const char* key() const override {
    return list_ != nullptr ? Ordered::At(list_->key()).entry : sorted_->Entry(at_);
  }

  void Next() override {
    if (list_ != nullptr) {
      return list_->Next();
    }
    at_++;
    sorted_->Prefetch(at_ + kAhead);
  }

  void Prev() override {
    if (list_ != nullptr) {
      return list_->Prev();
    }
    at_ = at_ == 0 ? sorted_->size() : at_ - 1;
  }

  void Seek(const Slice& internal_key, const char* memtable_key) override {
    Begin();
    const char* target = Target(internal_key, memtable_key);
    if (list_ != nullptr) {
      return list_->Seek(Slice(), Ordered::Of(target).bytes());
    }
    at_ = sorted_->Seek(MemKey::OfEntry(target));
  }

  void SeekForPrev(const Slice& internal_key, const char* memtable_key) override {
    Begin();
    const char* target = Target(internal_key, memtable_key);
    if (list_ != nullptr) {
      return list_->SeekForPrev(Slice(), Ordered::Of(target).bytes());
    }
    const MemKey key = MemKey::OfEntry(target);
    at_ = sorted_->Seek(key);
    if (at_ == sorted_->size() || Compare(MemKey::OfEntry(sorted_->Entry(at_)), key) != 0) {
      Prev();
    }
  }

  void SeekToFirst() override {
    Begin();
    if (list_ != nullptr) {
      return list_->SeekToFirst();
    }
    for (at_ = kAhead; at_ > 0; at_--) {
      sorted_->Prefetch(at_ - 1);
    }
  }

  void SeekToLast() override {
    Begin();
    if (list_ != nullptr) {
      return list_->SeekToLast();
    }
    at_ = sorted_->size();
    Prev();
  }

 private:
  void Begin() {
    if (list_ != nullptr) {
      return;
    }
    MemTableRep* list = rep_->list();
    if (list != nullptr) {
      list_.reset(list->GetIterator());
      sorted_.reset();
    } else if (sorted_ == nullptr || sorted_->size() != rep_->count()) {
      sorted_ = rep_->SortedNow();
    }
  }

  // As a memtable has it.
  const char* Target(const Slice& internal_key, const char* memtable_key) {
    if (memtable_key != nullptr) {
      return memtable_key;
    }
    target_.clear();
    auto left = static_cast<uint32_t>(internal_key.size());
    for (; left >= 128; left >>= 7) {
      target_.push_back(static_cast<char>(left | 128));
    }
    target_.push_back(static_cast<char>(left));
    target_.append(internal_key.data(), internal_key.size());
    return target_.data();
  }

  Rep* const rep_;
  std::unique_ptr<MemTableRep::Iterator> list_;
  std::shared_ptr<const Sorted> sorted_;
  size_t at_ = 0;
  std::string target_;
};

MemTableRep::Iterator* Rep::GetIterator(Arena* arena) {
  if (arena == nullptr) {
    return new RepIterator(this);
  }
  return new (arena->AllocateAligned(sizeof(RepIterator))) RepIterator(this);
}

class Factory final : public MemTableRepFactory {
 public:
  const char* Name() const override { return "FerrostateMemTableFactory"; }
  // In OPTIONS files, which any RocksDB must be able to read: a memtable leaves nothing in the others.
  std::string GetId() const override { return "SkipListFactory"; }

  using MemTableRepFactory::CreateMemTableRep;
  MemTableRep* CreateMemTableRep(const MemTableRep::KeyComparator&, Allocator* allocator,
                                 const SliceTransform*, Logger*) override {
    return new Rep(allocator, std::make_shared<History>());
  }
  MemTableRep* CreateMemTableRep(const MemTableRep::KeyComparator&, Allocator* allocator,
                                 const SliceTransform*, Logger*, uint32_t column) override {
    std::lock_guard<std::mutex> lock(mutex_);
    std::shared_ptr<History>& history = histories_[column];
    if (history == nullptr) {
      history = std::make_shared<History>();
    }
    return new Rep(allocator, history);
  }

 private:
  std::mutex mutex_;
  std::unordered_map<uint32_t, std::shared_ptr<History>> histories_;
};

}  // namespace
}  // namespace ferrostate

extern "C" {

// For the column families of one database, which must not allow concurrent writes of memtables. False, and
// all is as it was, where the options ask for what this memtable cannot do.
bool ferrostate_options_hash_memtable(rocksdb_options_t* options, char** error) {
  return ferrostate::Fenced(error, false, [&] {
    ROCKSDB_NAMESPACE::Options& rep = options->rep;
    if (rep.comparator != ROCKSDB_NAMESPACE::BytewiseComparator() ||
        rep.write_buffer_size > ferrostate::kMostBytes || rep.inplace_update_support ||
        rep.memtable_protection_bytes_per_key != 0 || rep.paranoid_memory_checks) {
      return false;
    }
    rep.memtable_factory = std::make_shared<ferrostate::Factory>();
    return true;
  });
}

}  // extern "C"
