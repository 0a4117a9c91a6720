#include "model/kernels/matrix_product.h"

#include <unordered_map>
#include <utility>

#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "model/kernels/onednn_guard.h"

namespace lockstep {
namespace {

using dnnl::memory;

memory::desc Describe(int64_t rows, int64_t columns, MatrixProduct::Layout layout) {
  const auto tag = layout == MatrixProduct::Layout::kPlain ? memory::format_tag::ab : memory::format_tag::ba;
  return memory::desc({rows, columns}, memory::data_type::f32, tag);
}

dnnl::matmul::primitive_desc Describe(const MatrixProduct::Options& options, const dnnl::engine& engine) {
  const memory::desc a = Describe(options.m, options.k, options.a);
  const memory::desc b = Describe(options.k, options.n, options.b);
  const memory::desc c = Describe(options.m, options.n, MatrixProduct::Layout::kPlain);
  if (options.bias == MatrixProduct::Bias::kNone) return {{a, b, c}, engine};
  const memory::desc bias = Describe(1, options.n, MatrixProduct::Layout::kPlain);
  return {{a, b, bias, c}, engine};
}

}  // namespace

struct MatrixProduct::Primitive {
  Primitive(const Options& options, const dnnl::engine& engine)
      : Primitive(dnnl::matmul::primitive_desc(Describe(options, engine)), engine) {
    if (options.bias == Bias::kAdded) arguments.emplace(DNNL_ARG_BIAS, bias);
  }
  Primitive(const dnnl::matmul::primitive_desc& description, const dnnl::engine& engine)
      : stream(engine),
        matmul(description),
        a(description.src_desc(), engine, nullptr),
        b(description.weights_desc(), engine, nullptr),
        bias(description.bias_desc(), engine, nullptr),
        c(description.dst_desc(), engine, nullptr),
        arguments({{DNNL_ARG_SRC, a}, {DNNL_ARG_WEIGHTS, b}, {DNNL_ARG_DST, c}}) {}

  dnnl::stream stream;
  dnnl::matmul matmul;
  memory a, b, bias, c;
  // Refers to the memories above, so that setting their addresses is all a run has to do.
  std::unordered_map<int, memory> arguments;
};

MatrixProduct::MatrixProduct(std::unique_ptr<Primitive> primitive) : primitive_(std::move(primitive)) {}

MatrixProduct::~MatrixProduct() = default;

absl::StatusOr<std::unique_ptr<MatrixProduct>> MatrixProduct::Create(const Options& options) {
  std::unique_ptr<Primitive> primitive;
  RETURN_IF_ERROR(GuardOneDnn(
      absl::StrFormat("matrix product [%d, %d] . [%d, %d]", options.m, options.k, options.k, options.n),
      [&] { primitive = std::make_unique<Primitive>(options, dnnl::engine(dnnl::engine::kind::cpu, 0)); }));
  return std::unique_ptr<MatrixProduct>(new MatrixProduct(std::move(primitive)));
}

absl::Status MatrixProduct::Run(const float* a, const float* b, const float* bias, float* c) {
  return GuardOneDnn("matrix product", [&] {
    // oneDNN's memory has no const; it only reads its sources.
    primitive_->a.set_data_handle(const_cast<float*>(a));
    primitive_->b.set_data_handle(const_cast<float*>(b));
    if (primitive_->arguments.count(DNNL_ARG_BIAS) > 0) {
      primitive_->bias.set_data_handle(const_cast<float*>(bias));
    }
    primitive_->c.set_data_handle(c);
    primitive_->matmul.execute(primitive_->stream, primitive_->arguments);
    primitive_->stream.wait();
  });
}

}  // namespace lockstep
