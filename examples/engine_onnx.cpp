// qdq in an engine laid out as ONNX Runtime: a kernel is an object of a node, made once, and computed for each run.
//
// The constructor reads the attributes. The first run of a shape makes a plan, which later runs use. Large work runs on
// the engine's own thread pool.
#include <qdq/qdq.h>

#include <cstdio>
#include <map>
#include <string>
#include <thread>
#include <vector>

namespace engine {

struct tensor {
    qdq_dtype type;
    std::vector<int64_t> shape;
    void *data;

    qdq_tensor view() const { return {data, type, static_cast<int32_t>(shape.size()), shape.data(), nullptr, {}}; }
};

struct node {
    std::map<std::string, int64_t> attributes;

    int64_t attribute(const char *name, int64_t otherwise) const {
        const auto found = attributes.find(name);
        return found != attributes.end() ? found->second : otherwise;
    }
};

class kernel {
public:
    virtual ~kernel() = default;
    // "" or why not.
    virtual std::string compute(const std::vector<tensor> &inputs, const tensor &output) = 0;
};

// The engine's pool, here a thread for each part.
void parallel_for(void *, int64_t count, qdq_task task, void *context) {
    std::vector<std::jthread> threads;
    for (int64_t i = 0; i < count; i++) {
        threads.emplace_back([=] { task(i, context); });
    }
}

class quantize_linear : public kernel {
public:
    explicit quantize_linear(const node &from) {
        qdq_profile_options("onnx", QDQ_U8, &options_);
        options_.axis = static_cast<int32_t>(from.attribute("axis", 1));
        options_.block_size = from.attribute("block_size", 0);
    }

    std::string compute(const std::vector<tensor> &inputs, const tensor &output) override {
        const qdq_tensor x = inputs[0].view(), scale = inputs[1].view(), zero_point = inputs[2].view(),
                         y = output.view();
        if (planned_ != inputs[0].shape || scale.data != scale_ || zero_point.data != zero_point_) {
            if (qdq_plan_quantize(&plan_, &x, &scale, &zero_point, &y, &options_) != QDQ_OK) {
                return qdq_last_error();
            }
            planned_ = inputs[0].shape;
            scale_ = scale.data;
            zero_point_ = zero_point.data;
        }
        return qdq_run(&plan_, x.data, y.data, nullptr) == QDQ_OK ? "" : qdq_last_error();
    }

private:
    qdq_options options_{};
    qdq_plan plan_{};
    std::vector<int64_t> planned_;
    const void *scale_ = nullptr, *zero_point_ = nullptr;
};

}  // namespace engine

int main() {
    std::vector<float> x{-1.0f, 0.5f, 1000.0f, 3.0f, 2.5f, -400.0f}, scale{2.0f, 0.5f};
    std::vector<uint8_t> zero_point{128, 10}, y(x.size());
    qdq_set_parallel_for(engine::parallel_for, nullptr);
    engine::quantize_linear kernel(engine::node{{{"axis", 0}}});
    const std::string problem =
        kernel.compute({{QDQ_F32, {2, 3}, x.data()}, {QDQ_F32, {2}, scale.data()}, {QDQ_U8, {2}, zero_point.data()}},
                       {QDQ_U8, {2, 3}, y.data()});
    if (!problem.empty()) {
        std::fprintf(stderr, "%s\n", problem.c_str());
        return 1;
    }
    for (std::size_t i = 0; i < y.size(); i++) {
        std::printf("%d%c", y[i], i + 1 < y.size() ? ' ' : '\n');
    }
}
