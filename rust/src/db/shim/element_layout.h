// How long the serialized elements of a list are, for those serializers of Flink's whose bytes tell.
// Reads bytes only; knows nothing of time, rows or RocksDB.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ferrostate {

// A cursor over bytes that may be anything. Every step fails instead of passing the end.
class Bytes {
 public:
  Bytes(const uint8_t* at, size_t left) : at_(at), left_(left) {}

  size_t left() const { return left_; }
  const uint8_t* at() const { return at_; }

  bool Skip(uint64_t count) {
    if (count > left_) {
      return false;
    }
    at_ += count;
    left_ -= count;
    return true;
  }

  bool Byte(uint8_t* value) {
    *value = left_ > 0 ? *at_ : 0;
    return Skip(1);
  }

  // Java's writeInt.
  bool Int(int32_t* value) {
    if (left_ < 4) {
      return false;
    }
    uint32_t bits = uint32_t{at_[0]} << 24 | uint32_t{at_[1]} << 16 | uint32_t{at_[2]} << 8 | at_[3];
    *value = static_cast<int32_t>(bits);
    return Skip(4);
  }

 private:
  const uint8_t* at_;
  size_t left_;
};

// The layout of one element, described by TtlElementLayout.java in prefix notation:
//   1 n           n bytes
//   2             StringValue: length + 1 in groups of 7 bits (0: null), then each char in such groups
//   3 n           a count, then count times n bytes
//   4 k part*k    the parts one after the other
//   5 part        a count, then count parts
//   6 key value   a count, then as many of: key, null flag, value unless the flag is set
//   7 n part      null flag; if set n bytes, else the part
//   8 k part*k    a POJO: flags byte, then each field as null flag and, unless set, the part
//   9 n           BigIntSerializer's number and, unless it is null, n bytes
// Counts k and n are Java's ints, as are the counts in the data.
class ElementLayout {
 public:
  // False unless `description` is exactly one layout.
  bool Parse(const uint8_t* description, size_t length);

  // Moves behind one element; false where the bytes are not of this layout.
  bool Skip(Bytes& bytes) const { return parsed_ && Skip(root_, bytes); }

 private:
  enum Kind : uint8_t {
    kFixed = 1,
    kString = 2,
    kArray = 3,
    kSequence = 4,
    kList = 5,
    kMap = 6,
    kNullable = 7,
    kPojo = 8,
    kBigInteger = 9,
  };

  struct Node {
    Kind kind = kFixed;
    uint32_t size = 0;
    std::vector<Node> parts;
  };

  static bool Parse(Bytes& description, int depth, Node* node);
  static bool ParseParts(Bytes& description, int depth, size_t count, Node* node);
  static bool Skip(const Node& node, Bytes& bytes);
  static bool SkipRepeated(const Node& node, Bytes& bytes);
  static bool SkipEntry(const Node& node, Bytes& bytes);
  static bool SkipUnlessNull(const Node& part, Bytes& bytes);
  static bool SkipPojo(const Node& node, Bytes& bytes);
  static bool SkipString(Bytes& bytes);
  static bool SkipBigInteger(const Node& node, Bytes& bytes);

  Node root_;
  bool parsed_ = false;
};

}  // namespace ferrostate
