// See element_layout.h. All walks are bounded by the bytes there are and by kDeepest.
#include "element_layout.h"

#include <utility>

namespace ferrostate {

namespace {

constexpr int kDeepest = 16;
constexpr int32_t kMostParts = 1024;

// PojoSerializer's flags: null, and of exactly the class that the fields are of.
constexpr uint8_t kPojoNull = 1;
constexpr uint8_t kPojoNoSubclass = 2;

// One number in groups of 7 bits, low ones first, as StringValue writes lengths and chars.
bool VarInt(Bytes& bytes, int most_bits, uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < most_bits; shift += 7) {
    uint8_t group = 0;
    if (!bytes.Byte(&group)) {
      return false;
    }
    *value |= uint64_t{group & 0x7fu} << shift;
    if (group < 0x80) {
      return true;
    }
  }
  return false;
}

}  // namespace

bool ElementLayout::Parse(const uint8_t* description, size_t length) {
  Bytes bytes(description, length);
  Node root;
  parsed_ = Parse(bytes, 0, &root) && bytes.left() == 0;
  if (parsed_) {
    root_ = std::move(root);
  }
  return parsed_;
}

bool ElementLayout::Parse(Bytes& description, int depth, Node* node) {
  uint8_t kind = 0;
  if (depth > kDeepest || !description.Byte(&kind)) {
    return false;
  }
  node->kind = static_cast<Kind>(kind);
  int32_t number = 0;
  bool numbered = kind != kString && kind != kList && kind != kMap;
  if (numbered && (!description.Int(&number) || number < 0)) {
    return false;
  }
  node->size = static_cast<uint32_t>(number);
  switch (kind) {
    case kFixed:
    case kString:
    case kArray:
    case kBigInteger:
      return true;
    case kSequence:
    case kPojo:
      return number <= kMostParts && ParseParts(description, depth, node->size, node);
    case kList:
    case kNullable:
      return ParseParts(description, depth, 1, node);
    case kMap:
      return ParseParts(description, depth, 2, node);
    default:
      return false;
  }
}

bool ElementLayout::ParseParts(Bytes& description, int depth, size_t count, Node* node) {
  for (size_t i = 0; i < count; i++) {
    Node part;
    if (!Parse(description, depth + 1, &part)) {
      return false;
    }
    node->parts.push_back(std::move(part));
  }
  return true;
}

bool ElementLayout::Skip(const Node& node, Bytes& bytes) {
  switch (node.kind) {
    case kFixed:
      return bytes.Skip(node.size);
    case kString:
      return SkipString(bytes);
    case kBigInteger:
      return SkipBigInteger(node, bytes);
    case kArray: {
      int32_t count = 0;
      return bytes.Int(&count) && count >= 0 && bytes.Skip(uint64_t{node.size} * static_cast<uint32_t>(count));
    }
    case kSequence:
      for (const Node& part : node.parts) {
        if (!Skip(part, bytes)) {
          return false;
        }
      }
      return true;
    case kList:
    case kMap:
      return SkipRepeated(node, bytes);
    case kNullable: {
      uint8_t null = 0;
      if (!bytes.Byte(&null) || null > 1) {
        return false;
      }
      return null == 1 ? bytes.Skip(node.size) : Skip(node.parts[0], bytes);
    }
    case kPojo:
      return SkipPojo(node, bytes);
  }
  return false;
}

bool ElementLayout::SkipRepeated(const Node& node, Bytes& bytes) {
  int32_t count = 0;
  if (!bytes.Int(&count) || count < 0) {
    return false;
  }
  for (int32_t i = 0; i < count; i++) {
    size_t before = bytes.left();
    if (node.kind == kList ? !Skip(node.parts[0], bytes) : !SkipEntry(node, bytes)) {
      return false;
    }
    if (bytes.left() == before) {
      return true;  // of no length, and so are the others: do not count up to two thousand million
    }
  }
  return true;
}

bool ElementLayout::SkipEntry(const Node& node, Bytes& bytes) {
  return Skip(node.parts[0], bytes) && SkipUnlessNull(node.parts[1], bytes);
}

bool ElementLayout::SkipUnlessNull(const Node& part, Bytes& bytes) {
  uint8_t null = 0;
  return bytes.Byte(&null) && null <= 1 && (null == 1 || Skip(part, bytes));
}

bool ElementLayout::SkipPojo(const Node& node, Bytes& bytes) {
  uint8_t flags = 0;
  if (!bytes.Byte(&flags)) {
    return false;
  }
  if (flags == kPojoNull) {
    return true;
  }
  if (flags != kPojoNoSubclass) {
    return false;  // a subclass has fields of its own
  }
  for (const Node& field : node.parts) {
    if (!SkipUnlessNull(field, bytes)) {
      return false;
    }
  }
  return true;
}

bool ElementLayout::SkipString(Bytes& bytes) {
  uint64_t length = 0;
  if (!VarInt(bytes, 35, &length)) {
    return false;
  }
  for (uint64_t i = 1; i < length; i++) {
    uint64_t character = 0;
    if (!VarInt(bytes, 21, &character) || character > 0xffff) {
      return false;
    }
  }
  return true;
}

bool ElementLayout::SkipBigInteger(const Node& node, Bytes& bytes) {
  // 0 is null, 1 to 3 are numbers without bytes, all else is the count of bytes + 4.
  int32_t code = 0;
  if (!bytes.Int(&code) || code < 0) {
    return false;
  }
  return code == 0 || (bytes.Skip(code < 4 ? 0 : code - 4) && bytes.Skip(node.size));
}

}  // namespace ferrostate
