#pragma once

#include "support/error.h"
#include "support/input_file.h"
#include "support/interrupt.h"

#include <cstddef>
#include <cstdint>
#include <protozero/types.hpp>
#include <string>
#include <vector>

namespace qdq::model {

// One field of a protobuf message in a file. Offsets are those in the file.
struct protobuf_field {
    uint32_t number = 0;
    protozero::pbf_wire_type type = protozero::pbf_wire_type::unknown;
    uint64_t begin = 0;              // of its tag
    uint64_t payload = 0, size = 0;  // what follows the tag, and the length where there is one
    uint64_t value = 0;              // of a varint

    uint64_t end() const { return payload + size; }
    bool is(uint32_t field, protozero::pbf_wire_type wire) const { return number == field && type == wire; }
    bool has_length() const { return type == protozero::pbf_wire_type::length_delimited; }
};

// Walks over messages in a file without holding them, as libraries do: a model of 2 GB is one message.
class protobuf_scanner {
public:
    explicit protobuf_scanner(const input_file &file) : file_(file) {}

    // Visits the fields of the message in [begin, end), and may be called by a visit for the message in a field. Throws
    // failure where it is malformed.
    template<typename Visit> void for_each_field(uint64_t begin, uint64_t end, Visit visit) {
        constexpr int deepest = 100;  // protobuf's own limit
        if (depth_ == deepest) {
            throw failure("more than " + std::to_string(deepest) + " messages are one in another");
        }
        ++depth_;
        while (begin < end) {
            throw_if_interrupted();
            protobuf_field field = read_field(begin, end);
            visit(field);
            begin = field.end();
        }
        --depth_;
    }
    template<typename Visit> void for_each_field(const protobuf_field &message, Visit visit) {
        check_length(message);
        for_each_field(message.payload, message.end(), visit);
    }

    // The payload of a field with a length.
    std::string text(const protobuf_field &field);

    // The numbers of a repeated field: packed ones, or the one that is there.
    std::vector<uint64_t> varints(const protobuf_field &field);

private:
    protobuf_field read_field(uint64_t begin, uint64_t end);
    uint64_t read_varint(uint64_t &at, uint64_t end);
    const char *in_window(uint64_t at, uint64_t size);
    static void check_length(const protobuf_field &field);  // throws where it has none

    const input_file &file_;
    std::vector<std::byte> window_;  // of the file, from window_begin_
    uint64_t window_begin_ = 0;
    int depth_ = 0;  // the messages that are being visited
};

}  // namespace qdq::model
