// Log, hash table and sorted copies of a memtable under readers beside its writer, without RocksDB, so that
// sanitizers see all of it: scripts/check-memtable compiles and runs this. What RocksDB asks of the
// whole is memtable_test.rs's business.
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <thread>

#include "memtable_hash.h"
#include "memtable_sorted.h"

namespace {

using ferrostate::MemHash;
using ferrostate::MemKey;
using ferrostate::MemLog;
using ferrostate::Sorted;

constexpr uint64_t kWrites = 100000;
// Writes that are told of together, as those of a batch are.
constexpr uint64_t kBatch = 5;

[[noreturn]] void Failed(const char* what, uint64_t number, uint64_t moment) {
  std::fprintf(stderr, "%s: %lu at %lu\n", what, number, moment);
  std::abort();
}

// Each piece by itself, so that no step out of one goes unseen.
class Pieces final : public ROCKSDB_NAMESPACE::Allocator {
 public:
  char* Allocate(size_t bytes) override { return AllocateAligned(bytes, 0, nullptr); }
  char* AllocateAligned(size_t bytes, size_t, ROCKSDB_NAMESPACE::Logger*) override {
    std::lock_guard<std::mutex> lock(mutex_);
    return pieces_.emplace_back(new char[bytes]).get();
  }
  size_t BlockSize() const override { return 4096; }

 private:
  std::mutex mutex_;
  std::deque<std::unique_ptr<char[]>> pieces_;
};

void AddVarint(std::string* to, size_t number) {
  for (; number >= 128; number >>= 7) {
    to->push_back(static_cast<char>(number | 128));
  }
  to->push_back(static_cast<char>(number));
}

// One key has a third of all versions.
std::string KeyOf(uint64_t sequence) {
  return sequence % 3 == 0 ? "hot" : "key" + std::to_string(sequence * 7919 % 20011 % 5000);
}

// As RocksDB encodes it; some have a chunk of the log to themselves.
std::string Entry(uint64_t sequence) {
  const std::string key = KeyOf(sequence);
  const size_t value = sequence % 997 == 0 ? 9000 : sequence % 30;
  const uint64_t tag = sequence << 8 | 1;
  std::string entry;
  AddVarint(&entry, key.size() + 8);
  entry += key;
  entry.append(reinterpret_cast<const char*>(&tag), 8);
  AddVarint(&entry, value);
  entry.append(value, 'v');
  return entry;
}

struct Memtable {
  Pieces pieces;
  MemLog log{&pieces};
  MemHash hash{&log, &pieces};
  std::atomic<size_t> bytes{0};
  std::atomic<uint64_t> last{0};

  void Write(uint64_t sequence) {
    const std::string entry = Entry(sequence);
    memcpy(log.Allocate(entry.size()), entry.data(), entry.size());
    hash.Insert(log.Publish(), 0);
    if (sequence % kBatch == 0) {
      last.store(sequence, std::memory_order_release);
    }
  }

  // Its versions at that moment come newest first, and the wanted one is among them.
  void Find(uint64_t wanted, uint64_t moment) const {
    const std::string key = KeyOf(wanted);
    uint64_t before = moment + 1;
    hash.Versions(MemKey{key.data(), key.size(), moment}, [&](const char* entry) {
      const uint64_t sequence = MemKey::OfEntry(entry).sequence;
      if (sequence >= before) {
        Failed("out of order", sequence, moment);
      }
      before = sequence;
      return sequence != wanted;
    });
    if (before != wanted) {
      Failed("lost", wanted, moment);
    }
  }

  // All of that moment is there, in order.
  std::shared_ptr<const Sorted> Sort(const Sorted* sorted, uint64_t moment) {
    auto now = std::make_shared<const Sorted>(log, sorted, &bytes);
    uint64_t seen = 0;
    for (size_t at = 0; at < now->size(); at++) {
      const MemKey key = MemKey::OfEntry(now->Entry(at));
      seen += key.sequence <= moment ? 1 : 0;
      if (at > 0 && Compare(MemKey::OfEntry(now->Entry(at - 1)), key) >= 0) {
        Failed("unsorted", key.sequence, moment);
      }
      if (now->Seek(key) != at) {
        Failed("not found in order", key.sequence, moment);
      }
    }
    if (seen != moment) {
      Failed("sorted", seen, moment);
    }
    return now;
  }
};

void Read(Memtable* memtable, bool sorts, uint64_t random) {
  std::shared_ptr<const Sorted> sorted;
  uint64_t moment = 0;
  while (moment < kWrites) {
    moment = memtable->last.load(std::memory_order_acquire);
    for (int n = 0; moment > 0 && n < 50; n++) {
      random = random * 6364136223846793005 + 1442695040888963407;
      const uint64_t far = n < 25 ? 12 : kWrites;
      memtable->Find(moment - (random >> 33) % std::min(moment, far), moment);
    }
    if (sorts) {
      sorted = memtable->Sort(sorted.get(), moment);
    }
  }
}

}  // namespace

int main() {
  Memtable memtable;
  std::thread readers[] = {std::thread(Read, &memtable, true, 1),
                           std::thread(Read, &memtable, false, 2)};
  for (uint64_t sequence = 1; sequence <= kWrites; sequence++) {
    memtable.Write(sequence);
  }
  for (std::thread& reader : readers) {
    reader.join();
  }
  if (memtable.bytes.load() != 0) {
    Failed("bytes left", memtable.bytes.load(), kWrites);
  }
  std::puts("memtable: readers beside a writer saw every moment");
}
