// Kernels that ptxas has compiled for 90, 86 and 80, in this order, beside their PTX, over the driver of tests/ptx,
// which runs none of them and says which it was given: the PTX is compiled then.
#include "cuda_context.h"

namespace device_test {
namespace {

class CudaCubins : public testing::Test {
protected:
    void SetUp() override {
        capability = function_named<void(int)>("ptx_driver_capability");
        refused = function_named<int()>("ptx_driver_refused_cubin");
        if (capability == nullptr || refused == nullptr) {
            GTEST_SKIP() << "the driver of tests/ptx is not loaded";
        }
    }
    void TearDown() override {
        if (capability != nullptr) {
            capability(70);
        }
    }

    // Of which architecture a device of that compute capability is given a cubin; 0: of none.
    int given_to(int device_capability) {
        capability(device_capability);
        refused();
        in_new_context([&](device &memory) {
            const std::vector<float> x = some_floats();
            call c(memory, x, 0.5f);
            EXPECT_EQ(c.run(), QDQ_OK) << qdq_last_error();
            EXPECT_EQ(c.y_array.values<int8_t>(), quantized_on_host(x, 0.5f));
        });
        return refused();
    }

    void (*capability)(int) = nullptr;
    int (*refused)() = nullptr;
};

TEST_F(CudaCubins, a_device_is_given_the_last_that_it_runs) {
    for (const auto &[device_capability, architecture] :
         {std::pair{70, 0}, {75, 0}, {80, 80}, {86, 86}, {87, 86}, {89, 86}, {90, 90}, {100, 0}, {120, 0}}) {
        EXPECT_EQ(given_to(device_capability), architecture) << device_capability;
    }
}

}  // namespace
}  // namespace device_test
