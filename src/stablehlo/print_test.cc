#include "stablehlo/print.h"

#include <doctest/doctest.h>

#include <cmath>
#include <unordered_set>

#include "pjrt/client.h"
#include "pjrt/compile_options.h"
#include "stablehlo/build.h"

namespace tp {
namespace {

Value leaf(Dtype dtype, Dims dims) { return new_leaf(Type{dtype, std::move(dims)}, nullptr); }

void collect(const Node* n, Module& module, std::unordered_set<const Node*>& seen) {
  if (!seen.insert(n).second) return;
  for (const Value& input : n->inputs) collect(input.get(), module, seen);
  if (n->op != Op::leaf) {
    module.order.push_back(n);
    return;
  }
  module.parameters_of.push_back({n, static_cast<int>(module.parameters.size())});
  module.parameters.push_back({.type = n->type});
}

Module module_of(const Values& results) {
  Module module;
  std::unordered_set<const Node*> seen;
  for (const Value& result : results) {
    REQUIRE(result);
    collect(result.get(), module, seen);
    module.results.push_back(result.get());
  }
  return module;
}

std::string printed(const Values& results) { return print_module(module_of(results)); }

// The lines of the body alone, without their indentation.
std::string body(const Values& results) {
  std::string text = printed(results), out;
  size_t from = text.find(") {\n") + 4, to = text.find("    return");
  for (size_t at = from; at < to;) {
    size_t end = text.find('\n', at) + 1;
    out += text.substr(at + 4, end - at - 4);
    at = end;
  }
  return out;
}

std::string literal(Dtype dtype, Scalar number, Dims dims = {}) {
  Build b;
  std::string text = body({b.constant(dtype, number, dims)});
  size_t from = text.find('<') + 1;
  return text.substr(from, text.find("> :") - from);
}

TEST_CASE("a module has parameters, numbered values and results") {
  Build b;
  Value x = leaf(Dtype::f32, {2, 3}), y = leaf(Dtype::f32, {2, 3});
  Values results{b.tanh(b.add(x, y)), x};
  Module module = module_of(results);
  module.parameters[0].alias_output = 0;
  module.parameters[0].sharding = "{replicated}";
  module.parameters[1].donor = true;
  CHECK(print_module(module) ==
        "module @main {\n"
        "  func.func public @main(%arg0: tensor<2x3xf32> {tf.aliasing_output = 0 : i32, mhlo.sharding = "
        "\"{replicated}\"}, %arg1: tensor<2x3xf32> {jax.buffer_donor = true}) -> (tensor<2x3xf32>, tensor<2x3xf32>) {\n"
        "    %0 = stablehlo.add %arg0, %arg1 : tensor<2x3xf32>\n"
        "    %1 = stablehlo.tanh %0 : tensor<2x3xf32>\n"
        "    return %1, %arg0 : tensor<2x3xf32>, tensor<2x3xf32>\n"
        "  }\n"
        "}\n");
}

TEST_CASE("a runtime scalar is spread where its number fills a tensor") {
  Build b;
  Value x = leaf(Dtype::f32, {4}), number = b.constant(Dtype::f32, 2.5, {4});
  Value y = b.mul(x, number);
  Module module;
  module.parameters = {{.type = x.type()}, {.type = {Dtype::f32, {}}}};
  module.parameters_of = {{x.get(), 0}, {number.get(), 1}};
  module.order = {y.get()};
  module.results = {y.get()};
  std::string text = print_module(module);
  CHECK(text.find("%0 = stablehlo.broadcast_in_dim %arg1, dims = [] : (tensor<f32>) -> tensor<4xf32>\n") !=
        std::string::npos);
  CHECK(text.find("%1 = stablehlo.multiply %arg0, %0 : tensor<4xf32>\n") != std::string::npos);
}

TEST_CASE("constants are exact") {
  CHECK(literal(Dtype::f32, Scalar::of(1.0)) == "0x3F800000");
  CHECK(literal(Dtype::f32, Scalar::of(0.1)) == "0x3DCCCCCD");
  CHECK(literal(Dtype::f32, Scalar::of(INFINITY)) == "0x7F800000");
  CHECK(literal(Dtype::f32, Scalar::of(-0.0)) == "0x80000000");
  CHECK(literal(Dtype::f64, Scalar::of(1.0)) == "0x3FF0000000000000");
  CHECK(literal(Dtype::f32, Scalar::of(int64_t{3})) == "0x40400000");
  CHECK(literal(Dtype::c64, Scalar::of(std::complex<double>(1, -2))) == "(0x3F800000, 0xC0000000)");
  CHECK(literal(Dtype::pred, Scalar::of(int64_t{7})) == "true");
  CHECK(literal(Dtype::pred, Scalar::of(0.0)) == "false");
}

TEST_CASE("integers wrap to their dtype") {
  CHECK(literal(Dtype::s64, Scalar::of(INT64_MIN)) == "-9223372036854775808");
  CHECK(literal(Dtype::u64, Scalar::of(int64_t{-1})) == "18446744073709551615");
  CHECK(literal(Dtype::u8, Scalar::of(int64_t{-1})) == "255");
  CHECK(literal(Dtype::s8, Scalar::of(int64_t{200})) == "-56");
  CHECK(literal(Dtype::s32, Scalar::of(2.9)) == "2");
}

TEST_CASE("narrow floats round to even, and overflow as in PyTorch") {
  CHECK(literal(Dtype::bf16, Scalar::of(-INFINITY)) == "0xFF80");
  CHECK(literal(Dtype::bf16, Scalar::of(1.00390625)) == "0x3F80");  // halfway, to even
  CHECK(literal(Dtype::bf16, Scalar::of(1.01171875)) == "0x3F82");
  CHECK(literal(Dtype::bf16, Scalar::of(1e-40)) == "0x0001");
  CHECK(literal(Dtype::bf16, Scalar::of(3.4e38)) == "0x7F80");
  CHECK(literal(Dtype::f16, Scalar::of(65504.0)) == "0x7BFF");
  CHECK(literal(Dtype::f16, Scalar::of(65520.0)) == "0x7C00");
  CHECK(literal(Dtype::f16, Scalar::of(5.960464477539063e-08)) == "0x0001");
  CHECK(literal(Dtype::f16, Scalar::of(1e-9)) == "0x0000");
  CHECK(literal(Dtype::f8e4m3fn, Scalar::of(448.0)) == "0x7E");
  CHECK(literal(Dtype::f8e4m3fn, Scalar::of(1e6)) == "0x7F");
  CHECK(literal(Dtype::f8e5m2, Scalar::of(1e6)) == "0x7C");
  CHECK(literal(Dtype::f8e5m2, Scalar::of(-1.0)) == "0xBC");
  CHECK(literal(Dtype::f8e4m3fnuz, Scalar::of(-0.0)) == "0x00");
  CHECK(literal(Dtype::f8e4m3fnuz, Scalar::of(NAN)) == "0x80");
  CHECK(literal(Dtype::f8e4m3fnuz, Scalar::of(1.0)) == "0x40");
  CHECK(literal(Dtype::f8e5m2fnuz, Scalar::of(1.0)) == "0x40");
}

TEST_CASE("float32 products ask for all bits, bf16 ones don't") {
  Build b;
  DotDims d{.batch_a = {0}, .batch_b = {0}, .contract_a = {2}, .contract_b = {1}};
  CHECK(body({b.dot_general(leaf(Dtype::f32, {2, 3, 4}), leaf(Dtype::f32, {2, 4, 5}), d)}) ==
        "%0 = stablehlo.dot_general %arg0, %arg1, batching_dims = [0] x [0], contracting_dims = [2] x [1], precision = "
        "[HIGHEST, HIGHEST] : (tensor<2x3x4xf32>, tensor<2x4x5xf32>) -> tensor<2x3x5xf32>\n");
  DotDims plain{.contract_a = {1}, .contract_b = {0}};
  CHECK(body({b.dot_general(leaf(Dtype::bf16, {3, 4}), leaf(Dtype::bf16, {4, 5}), plain)}) ==
        "%0 = stablehlo.dot_general %arg0, %arg1, contracting_dims = [1] x [0] : (tensor<3x4xbf16>, tensor<4x5xbf16>) "
        "-> tensor<3x5xbf16>\n");
}

TEST_CASE("several results are named by position") {
  Build b;
  Values sorted = b.sort({leaf(Dtype::s32, {4}), leaf(Dtype::s64, {4})}, 0, true);
  CHECK(body({b.add(sorted[1], sorted[1])}) ==
        "%0:2 = \"stablehlo.sort\"(%arg0, %arg1) <{dimension = 0 : i64, is_stable = true}> ({\n"
        "^bb0(%a0: tensor<i32>, %b0: tensor<i32>, %a1: tensor<i64>, %b1: tensor<i64>):\n"
        "  %less = stablehlo.compare LT, %b0, %a0, SIGNED : (tensor<i32>, tensor<i32>) -> tensor<i1>\n"
        "  stablehlo.return %less : tensor<i1>\n"
        "}) : (tensor<4xi32>, tensor<4xi64>) -> (tensor<4xi32>, tensor<4xi64>)\n"
        "%1 = stablehlo.add %0#1, %0#1 : tensor<4xi64>\n");
}

TEST_CASE("an update at host starts prints the starts") {
  Build b;
  CHECK(body({b.update_slice(leaf(Dtype::f32, {8, 4}), leaf(Dtype::f32, {1, 4}), {3, 0})}) ==
        "%0 = stablehlo.constant dense<3> : tensor<i32>\n"
        "%1 = stablehlo.constant dense<0> : tensor<i32>\n"
        "%2 = stablehlo.dynamic_update_slice %arg0, %arg1, %0, %1 : (tensor<8x4xf32>, tensor<1x4xf32>, tensor<i32>, "
        "tensor<i32>) -> tensor<8x4xf32>\n");
}

TEST_CASE("a custom call carries its kernel's attributes") {
  Build b;
  Value x = leaf(Dtype::bf16, {1, 8});
  CHECK(body({b.custom_call("tp_product", {x, x}, Type{Dtype::bf16, {1, 1}}, "{rows = 1 : i64}")}) ==
        "%0 = stablehlo.custom_call @tp_product(%arg0, %arg0) {api_version = 4 : i32, backend_config = {rows = 1 : "
        "i64}} : (tensor<1x8xbf16>, tensor<1x8xbf16>) -> tensor<1x1xbf16>\n");
}

// --- every operation, on the CPU plugin

class Plugged {
 public:
  Plugged() {
    auto plugin = Plugin::load(TP_CPU_PLUGIN_PATH);
    REQUIRE_MESSAGE(plugin.ok(), plugin.error().message());
    auto client = Client::create(std::move(plugin.value()));
    REQUIRE_MESSAGE(client.ok(), client.error().message());
    client_ = std::move(client.value());
    options_ = CompileOptions::single_device(0, false).serialize();
  }
  void compiles(const Values& results) {
    std::string text = printed(results);
    auto executable = client_->compile(text, options_);
    CHECK_MESSAGE(executable.ok(), executable.error().message(), "\n", text);
  }
  const Client& client() const { return *client_; }
  const std::string& options() const { return options_; }

 private:
  std::unique_ptr<Client> client_;
  std::string options_;
};

TEST_CASE("the plugin takes every element-wise operation") {
  Plugged on;
  Build b;
  Value x = leaf(Dtype::f32, {2, 3}), i = leaf(Dtype::s32, {2, 3}), z = leaf(Dtype::c64, {2, 3});
  Values results;
  for (int k = static_cast<int>(Op::abs); k <= static_cast<int>(Op::sinh); ++k) {
    Op op = static_cast<Op>(k);
    bool integral = op == Op::not_ || op == Op::popcnt || op == Op::count_leading_zeros;
    if (op == Op::real) {
      results.push_back(b.real(z));
    } else if (op == Op::imag) {
      results.push_back(b.imag(z));
    } else if (op == Op::is_finite) {
      results.push_back(b.is_finite(x));
    } else {
      results.push_back(b.unary(op, integral ? i : x));
    }
  }
  results.push_back(b.abs(z));
  for (int k = static_cast<int>(Op::add); k <= static_cast<int>(Op::zeta); ++k) {
    Op op = static_cast<Op>(k);
    bool integral = op >= Op::shift_left && op <= Op::shift_right_logical;
    integral = integral || op == Op::and_ || op == Op::or_ || op == Op::xor_;
    results.push_back(op == Op::complex ? b.complex(x, x) : integral ? b.binary(op, i, i) : b.binary(op, x, x));
  }
  for (Dtype d : {Dtype::f32, Dtype::s32, Dtype::u8, Dtype::pred, Dtype::c64}) {
    results.push_back(b.compare(Direction::ne, leaf(d, {2}), leaf(d, {2})));
  }
  results.push_back(b.select(leaf(Dtype::pred, {2, 3}), x, x));
  results.push_back(b.select(leaf(Dtype::pred, {2, 3}), leaf(Dtype::pred, {2, 3}), leaf(Dtype::pred, {2, 3})));
  on.compiles(results);
}

TEST_CASE("the plugin takes constants of every dtype, and of no elements") {
  Plugged on;
  Build b;
  Values results;
  for (int k = 0; k < kDtypeCount; ++k) {
    results.push_back(b.constant(static_cast<Dtype>(k), 1.0, {2}));
    results.push_back(b.constant(static_cast<Dtype>(k), 1.0, {0, 3}));
  }
  on.compiles(results);
}

TEST_CASE("the plugin takes what moves elements") {
  Plugged on;
  Build b;
  Value x = leaf(Dtype::f32, {2, 3}), at = leaf(Dtype::s32, {}), row = leaf(Dtype::f32, {1, 3});
  on.compiles({b.broadcast_in_dim(x, {4, 2, 3}, {1, 2}), b.transpose(x, {1, 0}), b.reverse(x, {0, 1}),
               b.concatenate({x, x}, 1), b.reshape(x, {6}), b.slice(x, {0, 1}, {2, 3}, {1, 2}),
               b.convert(x, Dtype::bf16), b.bitcast(x, Dtype::s32, {2, 3}), b.bitcast(x, Dtype::u8, {2, 3, 4}),
               b.pad(x, b.scalar_like(x, 1), {1, -1}, {0, 2}, {1, 0}), b.iota(Dtype::s64, {2, 3}, 1),
               b.dynamic_slice(x, {at, at}, {1, 2}), b.dynamic_update_slice(x, row, {at, at}),
               b.update_slice(x, row, {1, 0}), b.optimization_barrier({x})[0]});
}

TEST_CASE("the plugin takes products, reductions and windows") {
  Plugged on;
  Build b;
  Value x = leaf(Dtype::f32, {2, 3}), image = leaf(Dtype::f32, {2, 4, 8, 8});
  WindowDims window{.sizes = {1, 1, 2, 2},
                    .strides = {1, 1, 2, 2},
                    .base_dilations = {1, 1, 1, 1},
                    .window_dilations = {1, 1, 1, 1},
                    .pad_low = {0, 0, 0, 0},
                    .pad_high = {0, 0, 0, 0}};
  ConvolutionDims conv{.strides = {2, 1},
                       .pad_low = {1, 0},
                       .pad_high = {1, 2},
                       .lhs_dilation = {1, 2},
                       .rhs_dilation = {1, 1},
                       .groups = 2,
                       .reverse_window = true,
                       .input_layout = {0, 1, 2, 3},
                       .kernel_layout = {0, 1, 2, 3},
                       .output_layout = {0, 3, 1, 2}};
  Values results{b.dot_general(x, x, {.contract_a = {1}, .contract_b = {1}}), b.reduce(Combine::add, x, {0, 1}),
                 b.reduce_window(Combine::maximum, image, window),
                 b.select_and_scatter(image, leaf(Dtype::f32, {2, 4, 4, 4}), window),
                 b.convolution(image, leaf(Dtype::f32, {6, 2, 3, 3}), conv)};
  for (Combine c : {Combine::multiply, Combine::maximum, Combine::minimum, Combine::and_, Combine::or_}) {
    results.push_back(b.reduce(c, leaf(Dtype::s32, {2, 3}), {1}));
  }
  on.compiles(results);
}

TEST_CASE("the plugin takes indexing, sorting, linear algebra and fft") {
  Plugged on;
  Build b;
  Value x = leaf(Dtype::f32, {4, 3}), index = leaf(Dtype::s32, {5});
  ScatterDims d{.update_window_dims = {1},
                .inserted_window_dims = {0},
                .scatter_dims_to_operand_dims = {0},
                .index_vector_dim = 1};
  Values results{b.take(x, index, 0), b.take_along(x, leaf(Dtype::s32, {2, 3}), 0)};
  for (Combine c : {Combine::add, Combine::maximum, Combine::replace}) {
    results.push_back(b.scatter(c, x, index, leaf(Dtype::f32, {5, 3}), d));
  }
  for (Value v : b.sort({x, leaf(Dtype::s64, {4, 3})}, 0, false)) results.push_back(v);
  results.push_back(b.sort({x}, 1, true)[0]);
  Value square = leaf(Dtype::f32, {2, 3, 3});
  results.push_back(b.cholesky(square, true));
  results.push_back(b.triangular_solve(square, leaf(Dtype::f32, {2, 3, 4}), true, false, true, true));
  results.push_back(b.fft(leaf(Dtype::c64, {2, 8}), Build::Fft::inverse, {8}));
  results.push_back(b.fft(leaf(Dtype::f32, {2, 8}), Build::Fft::real_forward, {2, 8}));
  results.push_back(b.fft(leaf(Dtype::c64, {2, 5}), Build::Fft::real_inverse, {8}));
  on.compiles(results);
}

// Runs a program of one operand and one result.
std::vector<float> run(const Plugged& on, const Value& result, const Value& x, const std::vector<float>& data) {
  auto program = on.client().compile(printed({result}), on.options());
  REQUIRE_MESSAGE(program.ok(), program.error().message());
  auto buffer = on.client().buffer_from_host(data.data(), Dtype::f32, x.dims(), on.client().addressable_devices()[0]);
  REQUIRE(buffer.ok());
  PJRT_Buffer* arguments[] = {buffer->get()};
  auto results = program->execute(arguments);
  REQUIRE(results.ok());
  std::vector<float> out(static_cast<size_t>(numel(result.dims())));
  REQUIRE((*results)[0].copy_to_host_sync(out.data(), out.size() * sizeof(float)).ok());
  return out;
}

TEST_CASE("maximum and minimum keep NaN, on either side and in reductions") {
  Plugged on;
  Build b;
  Value x = leaf(Dtype::f32, {64, 128});
  std::vector<float> data(64 * 128);
  for (size_t i = 0; i < data.size(); ++i) data[i] = static_cast<float>(i % 97);
  data[5 * 128 + 70] = NAN;
  data[9 * 128] = NAN;
  for (Combine kind : {Combine::maximum, Combine::minimum}) {
    std::vector<float> rows = run(on, b.reduce(kind, x, {1}), x, data);
    for (size_t i = 0; i < 64; ++i) CHECK(std::isnan(rows[i]) == (i == 5 || i == 9));
    std::vector<float> columns = run(on, b.reduce(kind, x, {0}), x, data);
    for (size_t i = 0; i < 128; ++i) CHECK(std::isnan(columns[i]) == (i == 70 || i == 0));
  }
  Value pair = leaf(Dtype::f32, {2}), left = b.slice_dim(pair, 0, 0, 1), right = b.slice_dim(pair, 0, 1, 2);
  for (const std::vector<float>& values : {std::vector<float>{NAN, 1}, std::vector<float>{1, NAN}}) {
    CHECK(std::isnan(run(on, b.maximum(left, right), pair, values)[0]));
    CHECK(std::isnan(run(on, b.minimum(left, right), pair, values)[0]));
  }
  CHECK(run(on, b.maximum(left, right), pair, {3, 7})[0] == 7);
  CHECK(run(on, b.minimum(left, right), pair, {3, 7})[0] == 3);
}

TEST_CASE("the target's own maximum is used where it may be") {
  Build b;
  Value x = leaf(Dtype::f32, {2, 3});
  Values results{b.reduce(Combine::maximum, b.maximum(x, x), {1})};
  Module module = module_of(results);
  module.native_extremes = true;
  std::string text = print_module(module);
  CHECK(text.find("%0 = stablehlo.maximum %arg0, %arg0 : tensor<2x3xf32>\n") != std::string::npos);
  CHECK(text.find("applies stablehlo.maximum across dimensions = [1]") != std::string::npos);
  CHECK(body({b.maximum(leaf(Dtype::s32, {}), leaf(Dtype::s32, {}))}) ==
        "%0 = stablehlo.maximum %arg0, %arg1 : tensor<i32>\n");
}

TEST_CASE("NaN sorts last and equal numbers keep their order") {
  Plugged on;
  Build b;
  Value x = leaf(Dtype::f32, {6});
  Value order = b.iota(Dtype::s32, {6}, 0);
  Values up = b.sort({x, order}, 0, false), down = b.sort({x, order}, 0, true);
  auto program = on.client().compile(printed({up[1], down[1]}), on.options());
  REQUIRE_MESSAGE(program.ok(), program.error().message());
  float data[6] = {0.0f, NAN, -0.0f, -1.0f, NAN, INFINITY};
  auto buffer = on.client().buffer_from_host(data, Dtype::f32, {6}, on.client().addressable_devices()[0]);
  REQUIRE(buffer.ok());
  PJRT_Buffer* arguments[] = {buffer->get()};
  auto results = program->execute(arguments);
  REQUIRE(results.ok());
  int32_t got[2][6];
  for (size_t i = 0; i < 2; ++i) REQUIRE((*results)[i].copy_to_host_sync(got[i], sizeof(got[i])).ok());
  const int32_t rising[] = {3, 0, 2, 5, 1, 4}, falling[] = {1, 4, 5, 0, 2, 3};
  for (int i = 0; i < 6; ++i) {
    CHECK(got[0][i] == rising[i]);
    CHECK(got[1][i] == falling[i]);
  }
}

}  // namespace
}  // namespace tp
