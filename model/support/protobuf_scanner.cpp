#include "support/protobuf_scanner.h"

#include <algorithm>
#include <protozero/exception.hpp>
#include <protozero/varint.hpp>

namespace qdq::model {

using protozero::pbf_wire_type;

namespace {

constexpr uint64_t window = uint64_t{1} << 16;

failure malformed(uint64_t at) { return failure("not a valid protobuf message, at its byte " + std::to_string(at)); }

}  // namespace

// At most a window of bytes of the file, which are there until the next call.
const char *protobuf_scanner::in_window(uint64_t at, uint64_t size) {
    if (at < window_begin_ || at + size > window_begin_ + window_.size()) {
        window_.resize(std::min(window, file_.size() - at));
        file_.read(at, window_);
        window_begin_ = at;
    }
    return reinterpret_cast<const char *>(window_.data()) + (at - window_begin_);
}

uint64_t protobuf_scanner::read_varint(uint64_t &at, uint64_t end) {
    uint64_t wanted = std::min<uint64_t>(protozero::max_varint_length, end - at);
    const char *begin = in_window(at, wanted), *next = begin;
    try {
        uint64_t value = protozero::decode_varint(&next, begin + wanted);
        at += static_cast<uint64_t>(next - begin);
        return value;
    } catch (const protozero::exception &) {
        throw malformed(at);
    }
}

protobuf_field protobuf_scanner::read_field(uint64_t begin, uint64_t end) {
    protobuf_field field;
    field.begin = field.payload = begin;
    uint64_t tag = read_varint(field.payload, end);
    field.number = static_cast<uint32_t>(tag >> 3);
    field.type = static_cast<pbf_wire_type>(tag & 7);
    uint64_t after = field.payload;
    switch (field.type) {
    case pbf_wire_type::varint:
        field.value = read_varint(after, end);
        field.size = after - field.payload;
        break;
    case pbf_wire_type::fixed64: field.size = 8; break;
    case pbf_wire_type::fixed32: field.size = 4; break;
    case pbf_wire_type::length_delimited: field.size = read_varint(field.payload, end); break;
    default: throw malformed(begin);
    }
    if (field.number == 0 || tag >> 32 != 0 || field.size > end - field.payload) {
        throw malformed(begin);
    }
    return field;
}

void protobuf_scanner::check_length(const protobuf_field &field) {
    if (!field.has_length()) {
        throw malformed(field.begin);
    }
}

std::string protobuf_scanner::text(const protobuf_field &field) {
    check_length(field);
    if (field.size <= window) {
        return {in_window(field.payload, field.size), field.size};
    }
    std::string bytes(field.size, '\0');
    file_.read(field.payload, std::as_writable_bytes(std::span(bytes)));
    return bytes;
}

std::vector<uint64_t> protobuf_scanner::varints(const protobuf_field &field) {
    if (field.type == pbf_wire_type::varint) {
        return {field.value};
    }
    check_length(field);
    std::vector<uint64_t> values;
    for (uint64_t at = field.payload; at < field.end();) {
        values.push_back(read_varint(at, field.end()));
    }
    return values;
}

}  // namespace qdq::model
