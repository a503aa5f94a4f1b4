#include "decoder/weights/folded_convolution.h"

#include <algorithm>
#include <catch2/catch.hpp>
#include <cmath>
#include <map>
#include <string>

#include "decoder/weights/random_weights.h"
#include "decoder/weights/weights_hash.h"
#include "tests/support/random.h"

namespace headroom {
namespace {

constexpr int64_t kChannels = 24;
using Matrix = std::vector<std::vector<double>>;  ///< [row][column]

/// Kernels by name, from a seed, with biases of the size of the results.
void source(const Parameter& parameter, const Interval& elements, float* out) {
  fill_random(parameter, 11, elements, out);
}

/// Rows of a parameter from `first` on, as rows of a matrix.
Matrix stored(const std::string& name, int64_t rows, int64_t first, int64_t columns) {
  std::vector<float> values(static_cast<size_t>(rows * columns));
  std::vector<int64_t> shape{rows, columns, 1, 1};
  if (columns == 1) shape = {rows};
  source({name, shape}, {0, rows * columns}, values.data());
  Matrix matrix;
  for (int64_t r = first; r < first + kChannels; ++r)
    matrix.emplace_back(values.begin() + r * columns, values.begin() + (r + 1) * columns);
  return matrix;
}

/// One module's outputs for the inputs of some positions: [position][channel].
Matrix projected(const Matrix& inputs, const ModulePart& part) {
  const int64_t rows = kChannels * part.parts, first = kChannels * part.part;
  const Matrix kernel = stored(part.module + ".weight", rows, first, kChannels);
  const Matrix bias = stored(part.module + ".bias", rows, first, 1);
  Matrix made;
  for (const std::vector<double>& input : inputs) {
    std::vector<double>& values = made.emplace_back();
    for (size_t o = 0; o < kernel.size(); ++o) {
      double sum = bias[o][0];
      for (size_t i = 0; i < input.size(); ++i) sum += kernel[o][i] * input[i];
      values.push_back(sum);
    }
  }
  return made;
}

Matrix softmax_means(const Matrix& queries, const Matrix& keys, const Matrix& values, double scale) {
  Matrix made;
  for (const std::vector<double>& query : queries) {
    std::vector<double> weights, means(kChannels, 0.0);
    double total = 0;
    for (const std::vector<double>& key : keys) {
      double score = 0;
      for (size_t c = 0; c < key.size(); ++c) score += query[c] * key[c];
      weights.push_back(std::exp(score * scale));
      total += weights.back();
    }
    for (size_t k = 0; k < values.size(); ++k) {
      for (size_t c = 0; c < means.size(); ++c) means[c] += weights[k] / total * values[k][c];
    }
    made.push_back(std::move(means));
  }
  return made;
}

/// A folded convolution's outputs for the inputs of some positions.
Matrix convolved(const Graph& graph, const std::string& name, const Matrix& inputs) {
  const FoldedConvolution folded(graph, graph.op(graph.find_op(name)), source);
  std::vector<float> bias(kChannels), row(kChannels);
  folded.read_bias(bias.data());
  Matrix made(inputs.size());
  for (int64_t o = 0; o < kChannels; ++o) {
    folded.read_taps(o, {0, 10}, row.data());
    folded.read_taps(o, {10, kChannels}, row.data() + 10);
    for (size_t p = 0; p < inputs.size(); ++p) {
      double sum = bias[static_cast<size_t>(o)];
      for (size_t i = 0; i < row.size(); ++i) sum += double(row[i]) * inputs[p][i];
      made[p].push_back(sum);
    }
  }
  return made;
}

TEST_CASE("an attention with its own input as keys and values makes what four projections make") {
  const bool one_module = GENERATE(false, true);
  const AttentionModules modules =
      one_module ? AttentionModules{.q = {"qkv", 0, 3}, .k = {"qkv", 1, 3}, .v = {"qkv", 2, 3}, .out = "out"}
                 : AttentionModules{.q = {"q"}, .k = {"k"}, .v = {"v"}, .out = "out", .over_frames = true};
  Graph graph;
  graph.self_attention("a", graph.add_latent(kChannels), modules);
  test::Random random(3);
  Matrix h(7, std::vector<double>(kChannels));
  for (std::vector<double>& position : h) {
    for (double& value : position) value = random.uniform(-2, 2);
  }
  const Matrix q = projected(h, modules.q), k = projected(h, modules.k), v = projected(h, modules.v);
  const Matrix expected = projected(softmax_means(q, k, v, 1 / std::sqrt(double(kChannels))), {modules.out});
  const Matrix found = convolved(graph, "out", softmax_means(convolved(graph, "a.to_q", h), h, h, 1));
  double largest = 0, error = 0;
  for (size_t p = 0; p < h.size(); ++p) {
    for (size_t c = 0; c < found[p].size(); ++c) {
      largest = std::max(largest, std::abs(expected[p][c]));
      error = std::max(error, std::abs(found[p][c] - expected[p][c]));
    }
  }
  CHECK(largest > 0.1);
  CHECK(error <= 1e-6 * largest);
}

TEST_CASE("a multiplied kernel is rounded once") {
  Graph graph;
  graph.self_attention("a", graph.add_latent(2), {.q = {"q"}, .k = {"k"}, .v = {"v"}, .out = "out"});
  const float tiny = std::ldexp(1.0f, -24);
  const std::map<std::string, std::vector<float>> stored{
      {"v.weight", {1, 0, 1, 0}},
      {"v.bias", {1, -1}},
      {"out.weight", {1, tiny, 0, 0}},
      {"out.bias", {tiny, 0}},
  };
  const ParameterSource source = [&](const Parameter& parameter, const Interval& elements, float* out) {
    std::copy_n(stored.at(parameter.name).begin() + elements.begin, elements.length(), out);
  };
  const FoldedConvolution folded(graph, graph.op(graph.find_op("out")), source);
  float bias[2], row[2];
  folded.read_bias(bias);
  CHECK(bias[0] == 1);  // (2^-24 + 1) - 2^-24, which is not 1 when each sum is rounded to fp32
  folded.read_taps(0, {0, 2}, row);
  CHECK(row[0] == 1);
  CHECK(row[1] == 0);
}

TEST_CASE("folding reads every parameter, as the hash of the weights requires") {
  Graph graph;
  const AttentionModules modules =
      GENERATE(AttentionModules{.q = {"q"}, .k = {"k"}, .v = {"v"}, .out = "out"},
               AttentionModules{.q = {"qkv", 0, 3}, .k = {"qkv", 1, 3}, .v = {"qkv", 2, 3}, .out = "out"});
  graph.self_attention("a", graph.add_latent(kChannels), modules);
  const WeightsHash hash;
  const ParameterSource hashed = hash.over(source);
  for (const char* name : {"a.to_q", "out"}) FoldedConvolution(graph, graph.op(graph.find_op(name)), hashed);
  CHECK_FALSE(hash.text().empty());
}

}  // namespace
}  // namespace headroom
