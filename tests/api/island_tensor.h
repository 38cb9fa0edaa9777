// A tensor of which only the pages with elements are memory: an access beside a row is a crash, whatever lies between
// rows elsewhere.
#pragma once

#include "tensor_memory.h"

#include "support/choices.h"

#include <optional>
#include <set>

namespace api_test {

// Bytes from one place to another, counted from an element. They begin where a page does, or end there, or a few bytes
// off.
class island_memory {
public:
    island_memory(int64_t lowest, int64_t end, test_support::choices &from);
    ~island_memory();
    island_memory(const island_memory &) = delete;

    // Makes bytes memory, and the rest of their pages.
    void open(int64_t place, int64_t bytes);
    void forbid_writing();

    std::byte *first() const { return first_; }  // the element that places count from
    std::vector<std::byte> contents() const;     // of all pages
    void restore(const std::vector<std::byte> &contents);

private:
    int64_t bytes_;
    std::byte *mapping_, *first_;
    std::set<int64_t> pages_;
};

// Inputs that are exact have what they are made of; others may repeat elements, and have some at the ends of the ranges
// that kernels take.
enum class part { input, exact_input, output };

// A copy of a tensor by strides that are drawn: of any order and sign, with gaps of elements or of pages, and any
// numbers where a dimension has one element. Packed and arranged ones are dense.
class island_tensor {
public:
    island_tensor(const tensor_memory &of, part role, test_support::choices &from);

    const qdq_tensor &view() const { return view_; }  // valid while this object lives
    island_memory &memory() { return *memory_; }

    // Its memory as it is, and with the elements of another tensor of its shape.
    std::vector<std::byte> contents() const { return memory_->contents(); }
    std::vector<std::byte> contents_with(const tensor_memory &elements);

private:
    qdq_tensor view_;
    dimensions strides_;  // empty where it is dense
    std::optional<island_memory> memory_;

    void draw_strides(part role, test_support::choices &from);
    void open_elements(test_support::choices &from);
    void draw_ends(test_support::choices &from);
};

}  // namespace api_test
