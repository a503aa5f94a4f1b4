// Pins the order in which the interpreter allocates and frees memory and calls the device. Random plans run
// on a device that computes nothing and hashes every call. Only the hashes are stored, so a failure shows
// which plans differ but not how. Set HEADROOM_PRINT_LEDGERS to print the hashes.

#include <catch2/catch.hpp>
#include <cstdio>
#include <cstdlib>

#include "decoder/interpreter/interpreter.h"
#include "tests/support/random_ranked_plan.h"
#include "tests/support/sanitized.h"

namespace headroom {
namespace {

/// A running hash of numbers.
class Ledger {
 public:
  template <typename... Numbers>
  void note(const char* what, Numbers... numbers) {
    for (; *what != '\0'; ++what) add(*what);
    (add(static_cast<int64_t>(numbers)), ...);
  }
  void note(const MapView& view) {
    note("view", view.channels, view.block_rows, view.blocks_per_item, view.dtype);
    note(view.region);
    for (const void* block : view.blocks) add(static_cast<int64_t>(reinterpret_cast<uintptr_t>(block)));
  }
  void note(const Region& region) {
    for (const Interval& axis : {region.t, region.y, region.x}) note("axis", axis.begin, axis.end);
  }
  uint64_t sum() const { return sum_; }

 private:
  void add(int64_t number) {
    sum_ = (sum_ ^ static_cast<uint64_t>(number)) * 0x9e3779b97f4a7c15;
    sum_ ^= sum_ >> 32;
  }

  uint64_t sum_ = 0xcbf29ce484222325;
};

/// Returns increasing addresses without memory behind them, and records every call.
class LedgerDevice final : public Device, private MemoryMeter, private DeviceStatistics {
 public:
  LedgerDevice(Ledger& ledger, Dtype tiles) : ledger_(ledger), tiles_(tiles) {}

  std::shared_ptr<void> allocate(int64_t bytes, const InSeries& series) override {
    ledger_.note("allocate", bytes, reinterpret_cast<uintptr_t>(series.before), series.blocks_after * bytes);
    return taken(bytes);
  }
  DeviceTile make_tile(const Region& region, int64_t channels, int64_t items) override {
    const int64_t of_item = positions({region.t.length(), region.y.length(), region.x.length()}) * channels *
                            bytes_per_element(tiles_);
    DeviceTile tile{
        {region, channels, region.y.length(), 1, std::vector<void*>(static_cast<size_t>(items)), tiles_},
        taken(of_item * items)};
    for (int64_t item = 0; item < items; ++item) {
      tile.view.blocks[static_cast<size_t>(item)] =
          static_cast<std::byte*>(tile.memory.get()) + of_item * item;
    }
    note("make_tile", {&tile.view});
    return tile;
  }
  MemoryMeter& memory() override { return *this; }

  void load_latent(const ArrayView&, int64_t first, const MapView& view, int64_t) override {
    note("load_latent", {&view}, first);
  }
  void emit(const MapView& source, const Region& region, int64_t first, int64_t items, const std::string&,
            PictureSink&) override {
    note("emit", {&source}, first, items);
    ledger_.note(region);
  }
  void finish_output() override { note("finish_output"); }
  void begin_pass(size_t pass) override { note("begin_pass", {}, pass); }
  void end_pass() override { note("end_pass"); }

  DeviceStatistics& statistics() override { return *this; }
  void round(const MapView& tile, int64_t) override { note("round", {&tile}); }
  void fill_outside(const MapView& tile, Edges edges, const Extent&, int64_t) override {
    note("fill_outside", {&tile}, edges);
  }
  void run(const StepCall& call) override {
    ledger_.note(name_of(call.kind), call.items, call.activation());
    for (const MapView& input : call.inputs) ledger_.note(input);
    ledger_.note(call.target);
    ledger_.note(call.region);
    if (call.block) {
      const KeyBlock& block = *call.block;
      ledger_.note("block", block.item, block.frame, block.frames.begin, block.frames.end, block.first,
                   block.last);
    }
  }

 private:
  int64_t live_bytes() const override { return live_; }
  void start_window() override { peak_ = live_; }
  int64_t window_peak_bytes() const override { return peak_; }
  void begin(TensorId id, int64_t, const Interval&) override { note("begin_statistics", {}, id); }
  std::vector<double> values(const std::vector<TensorId>&) override { return {}; }
  void set_values(const std::vector<TensorId>&, const std::vector<double>&) override {}
  void check(TensorId id, const std::string&) override { note("check_statistics", {}, id); }
  void forget(TensorId id) override { note("forget_statistics", {}, id); }

  template <typename... Numbers>
  void note(const char* what, std::initializer_list<const MapView*> views = {}, Numbers... numbers) {
    ledger_.note(what, numbers...);
    for (const MapView* view : views) ledger_.note(*view);
  }
  std::shared_ptr<void> taken(int64_t bytes) {
    live_ += bytes;
    peak_ = std::max(peak_, live_);
    void* address = reinterpret_cast<void*>(next_);
    next_ += static_cast<uintptr_t>(bytes) + 64;
    return {address, [this, bytes](void* given_back) {
              live_ -= bytes;
              ledger_.note("give_back", reinterpret_cast<uintptr_t>(given_back), bytes);
            }};
  }

  Ledger& ledger_;
  const Dtype tiles_;
  uintptr_t next_ = 4096;
  int64_t live_ = 0, peak_ = 0;
};

class LedgerTransfers final : public BlockTransfers {
 public:
  explicit LedgerTransfers(Ledger& ledger) : ledger_(ledger) {}
  Ticket queue_write(const std::vector<Block>& blocks) override { return queued("write", blocks); }
  Ticket queue_read(const std::vector<Block>& blocks) override { return queued("read", blocks); }
  void wait(Ticket ticket) override { ledger_.note("wait", ticket); }
  void abandon() noexcept override {}

 private:
  Ticket queued(const char* what, const std::vector<Block>& blocks) {
    for (const Block& block : blocks) {
      ledger_.note(what, reinterpret_cast<uintptr_t>(block.memory), block.bytes, block.tensor,
                   block.position);
    }
    return ++last_;
  }

  Ledger& ledger_;
  Ticket last_ = 0;
};

class LedgerEvents final : public EventSink {
 public:
  explicit LedgerEvents(Ledger& ledger) : ledger_(ledger) {}
  void step_done(const Plan&, const StepDone& done) override {
    ledger_.note("step", done.item, done.pass, done.tile, done.step, done.live_before_bytes,
                 done.live_after_bytes, done.peak_bytes);
  }
  void allocating(MemoryKind kind, TensorId tensor) override { ledger_.note("allocating", kind, tensor); }
  void holds_tile(const void* memory) override {
    ledger_.note("holds_tile", reinterpret_cast<uintptr_t>(memory));
  }

 private:
  Ledger& ledger_;
};

void run(const Model& model, const Plan& plan, Ledger& ledger) {
  const bool cuda = plan.request.device == DeviceKind::cuda;
  LedgerDevice device(ledger, cuda ? plan.request.dtype : Dtype::fp32);
  LedgerTransfers transfers(ledger);
  LedgerEvents events(ledger);
  DiscardingSink sink({1, 1, 1, 1, 1});
  for (int64_t item = 0; item < plan.request.batch; item += plan.micro_batch)
    Interpreter(model, plan_of_micro_batch(plan, item), device, &transfers, &events).run(Array{}, item, sink);
}

/// Runs a random single-rank plan for a random model family.
void run_drawn_plan(uint64_t seed, DeviceKind device, Ledger& ledger) {
  test::Random random(seed);
  const test::DrawnModel drawn = test::draw_small_model(random);
  const bool clip = drawn.model.graph.tensor(drawn.model.graph.output()).scale.t > 1;
  const Extent latent{clip ? random.integer(1, 5) : 1, random.integer(1, 12), random.integer(1, 9)};
  const int64_t batch = random.integer(1, 3), micro_batch = random.integer(1, batch);
  const Dtype dtype = random.pick<Dtype>({Dtype::fp32, Dtype::bf16});
  const Request request = test::request_for(drawn.model, latent, batch, dtype, device);
  test::RandomStyle style;
  style.keep = random.pick<double>({0, 0.2, 0.5, 0.8, 1});
  style.late = random.pick<double>({0, 0.3});
  style.below = random.pick<double>({0, 0, 0.5});
  if (device == DeviceKind::cuda) style.form = ConvolutionAlgorithm::direct;
  MemoryModel memory;
  memory.block_bytes = random.pick<int64_t>({1, 300, 2000, int64_t{4} << 20});
  const PlanConfiguration configuration{
      .micro_batch = micro_batch,
      .lower_tier = device == DeviceKind::cuda ? MemoryTier::host : MemoryTier::scratch};
  run(drawn.model,
      test::random_plan(drawn.model, request, micro_batch, style, memory, random, {}, configuration).plan,
      ledger);
}

void check_ledgers(const char* name, const std::vector<uint64_t>& expected,
                   const std::function<void(uint64_t seed, Ledger&)>& run_seed) {
  constexpr uint64_t kPlansOfSum = 100;
  for (size_t i = 0; i < expected.size(); i += test::kSeedStep) {
    Ledger ledger;
    for (uint64_t seed = i * kPlansOfSum; seed < (i + 1) * kPlansOfSum; ++seed) run_seed(seed, ledger);
    if (std::getenv("HEADROOM_PRINT_LEDGERS") != nullptr)
      std::printf("%s %zu 0x%016lx\n", name, i, static_cast<unsigned long>(ledger.sum()));
    CAPTURE(i * kPlansOfSum);  // first seed of the sum
    CHECK(ledger.sum() == expected[i]);
  }
}

TEST_CASE("ledger: plans for the CPU take, give back and call in the same order") {
  check_ledgers("cpu",
                {0x0693251d32985e02, 0x3293b3eb50b06d13, 0x7a9dbb44db70b4c8, 0x250b6f89ee6cc5ca,
                 0x6221e11d122d380e, 0x38f4ee0f1d30fa74, 0x28107b38ede3a201, 0x3bb8cf1fd4bc70fe},
                [](uint64_t seed, Ledger& ledger) { run_drawn_plan(seed, DeviceKind::cpu, ledger); });
}

TEST_CASE("ledger: plans for a GPU take, give back and call in the same order") {
  check_ledgers("cuda",
                {0x96da6c0981d7009d, 0x3442e9a38a265465, 0x61eff63e3e73fc1c, 0xc7d213e95dfa1d94,
                 0xab2f85b028faf9cd, 0x7abec2d3fad635fe, 0x4627db2303681e7e, 0x80acdbfc9cf0089d},
                [](uint64_t seed, Ledger& ledger) { run_drawn_plan(seed, DeviceKind::cuda, ledger); });
}

TEST_CASE("ledger: plans of several ranks take, give back and call in the same order") {
  check_ledgers("ranks", {0x04ab9c7a9a938112, 0xbe1ec0753f5ba093, 0x91c71cfbc4df32d5, 0xd8649d8946492e28},
                [](uint64_t seed, Ledger& ledger) {
                  const test::RankedDraw draw = test::draw_ranks(seed);
                  for (const Plan& plan : draw.plan.plans) run(draw.model, plan, ledger);
                });
}

}  // namespace
}  // namespace headroom
