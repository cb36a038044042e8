// Sorting of a memtable's entries: by eight bytes of their keys at a time, so that few entries are visited.
#include "memtable_sorted.h"

namespace ferrostate {
namespace {

// So few are compared as a whole.
constexpr ptrdiff_t kFew = 12;
// Runs that are shorter on average are not worth merging.
constexpr size_t kLongRun = 32;
// Keys that are the same up to there are compared as a whole too: each eight bytes are a call within calls, and
// a thread of the JVM has a stack of a megabyte or less.
constexpr size_t kDeep = 256;

constexpr auto kByFront = [](const auto& a, const auto& b) { return a.front < b.front; };

// Of sorted batches: merges the runs they are.
template <class Items>
void SortByFront(Items* items) {
  std::vector<size_t> bounds{0};
  for (size_t at = 1; at < items->size(); at++) {
    if (kByFront((*items)[at], (*items)[at - 1])) {
      bounds.push_back(at);
    }
  }
  bounds.push_back(items->size());
  if (bounds.size() > 2 + items->size() / kLongRun) {
    std::sort(items->begin(), items->end(), kByFront);
    return;
  }
  Items merged(bounds.size() > 2 ? items->size() : 0);
  while (bounds.size() > 2) {
    std::vector<size_t> left{0};
    for (size_t run = 0; run + 1 < bounds.size(); run += 2) {
      const size_t end = bounds[std::min(run + 2, bounds.size() - 1)];
      const auto at = [&](size_t bound) { return items->begin() + static_cast<ptrdiff_t>(bound); };
      std::merge(at(bounds[run]), at(bounds[run + 1]), at(bounds[run + 1]), at(end),
                 merged.begin() + static_cast<ptrdiff_t>(bounds[run]),
                 kByFront);
      left.push_back(end);
    }
    std::swap(*items, merged);
    bounds = std::move(left);
  }
}

}  // namespace

Sorted::Sorted(const MemLog& log, const Sorted* before, std::atomic<size_t>* bytes)
    : log_(log), items_(SortedItems(before)), total_(bytes) {
  bytes_ = items_.capacity() * sizeof(Item) + seen_.capacity() * sizeof(uint32_t);
  total_->fetch_add(bytes_, std::memory_order_relaxed);
}

Sorted::~Sorted() { total_->fetch_sub(bytes_, std::memory_order_relaxed); }

Sorted::Items Sorted::SortedItems(const Sorted* before) {
  Items fresh;
  if (before != nullptr) {
    seen_ = before->seen_;
  }
  fresh.reserve(log_.count() - (before == nullptr ? 0 : before->size()));
  log_.Walk(&seen_, [&](Place place) {
    fresh.push_back({MemKey::OfEntry(log_.Entry(place)).Front(), place});
  });
  SortByFront(&fresh);
  SortAlike(fresh.data(), fresh.data() + fresh.size(), 0);
  if (before == nullptr) {
    return fresh;
  }
  Items all(before->size() + fresh.size());
  std::merge(before->items_.begin(), before->items_.end(), fresh.begin(), fresh.end(), all.begin(),
             [this](const Item& a, const Item& b) { return Less(a, b); });
  return all;
}

// Their keys are the same up to `depth`.
void Sorted::SortFrom(Item* first, Item* last, size_t depth) const {
  for (Item* item = first; item < last; item++) {
    item->front = Key(*item).Front(depth);
  }
  std::sort(first, last, kByFront);
  SortAlike(first, last, depth);
}

// They are in the order of the eight bytes at `depth`. Sorts those that have the same there.
void Sorted::SortAlike(Item* first, Item* last, size_t depth) const {
  while (first < last) {
    const uint64_t front = first->front;
    Item* end = first + 1;
    while (end < last && end->front == front) {
      end++;
    }
    if (end - first > kFew && depth < kDeep) {
      // Keys that have ended are the fronts of all others.
      Item* more = std::partition(
          first, end, [&](const Item& item) { return Key(item).size <= depth + 8; });
      std::sort(first, more, [&](const Item& a, const Item& b) { return Compare(Key(a), Key(b)) < 0; });
      SortFrom(more, end, depth + 8);
      for (Item* item = more; item < end; item++) {
        item->front = front;
      }
    } else if (end - first > 1) {
      std::sort(first, end, [&](const Item& a, const Item& b) { return Compare(Key(a), Key(b)) < 0; });
    }
    first = end;
  }
}

size_t Sorted::Seek(const MemKey& key) const {
  const uint64_t front = key.Front();
  const auto found = std::partition_point(items_.begin(), items_.end(), [&](const Item& item) {
    return item.front != front ? item.front < front : Compare(Key(item), key) < 0;
  });
  return static_cast<size_t>(found - items_.begin());
}

}  // namespace ferrostate
