#include "reports/figures/decoder_guess.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "decoder/families/built_in_models.h"
#include "decoder/families/families.h"
#include "decoder/families/load_model.h"
#include "profiler/history/decoding_class.h"
#include "reports/figures/layer_bytes.h"
#include "reports/figures/unit.h"

namespace headroom::reports {
namespace {

constexpr size_t kCompared = 12;      ///< number of largest sizes to compare
constexpr size_t kFewestMatched = 5;  ///< fewest matches; two thirds of the compared sizes must match, too
constexpr size_t kFewestVotes = 3;    ///< fewest tensors that must agree on the number of positions
constexpr int64_t kMostLatentFrames = 41;
constexpr int64_t kMissing = 3;        ///< score lost per missing tensor; a match scores 1
constexpr int64_t kLeastBytes = 1024;  ///< smaller allocations may come from anywhere
constexpr size_t kMostShapes = 3;      ///< most shapes to try if no usual size has the number of positions

/// Usual widths and heights of pictures and frames, in landscape.
constexpr std::pair<int64_t, int64_t> kUsualSizes[] = {
    {256, 256},   {384, 384},   {512, 512},   {640, 640},   {768, 768},   {1024, 1024}, {1280, 1280},
    {1536, 1536}, {2048, 2048}, {3072, 3072}, {4096, 4096}, {768, 512},   {1024, 768},  {1152, 896},
    {1216, 832},  {1344, 768},  {1536, 640},  {1536, 1024}, {1792, 1024}, {832, 480},   {848, 480},
    {704, 480},   {960, 544},   {1216, 704},  {1280, 704},  {1280, 720},  {1280, 768},  {1920, 1080},
    {1920, 1088}, {2048, 1152}, {2560, 1440}, {3840, 2160}};

/// Sizes of the allocations that a decode requested.
struct RecordedSizes {
  std::vector<int64_t> largest;  ///< largest first, at most kCompared
  std::set<int64_t> all;         ///< all sizes from kLeastBytes up
  std::set<int64_t> others;  ///< other allocations: outside the decode, or before the recording (parameters)
  bool refused = false;
};

RecordedSizes sizes_of(const profiler::DeviceHistory& device,
                       const std::optional<profiler::DecodingClass>& decoding) {
  RecordedSizes sizes;
  const auto take = [&](int64_t bytes, profiler::StackId stack, bool before) {
    if (bytes < kLeastBytes) return;
    const bool decodes = !before && (!decoding || decoding->decodes[stack]);
    (decodes ? sizes.all : sizes.others).insert(bytes);
  };
  for (const profiler::RecordedAllocation& one : device.allocations)
    take(one.bytes, one.stack, one.before_recording);
  for (const profiler::RecordedRefusal& one : device.refusals) take(one.asked_bytes, one.stack, false);
  sizes.refused = !device.refusals.empty();
  for (auto at = sizes.all.rbegin(); at != sizes.all.rend() && sizes.largest.size() < kCompared; ++at)
    sizes.largest.push_back(*at);
  return sizes;
}

/// A decoder to try, with the tensors and parameters that it allocates.
struct Candidate {
  std::string name;
  const Model* model = nullptr;
  std::vector<LayerSize> layers;
  std::vector<int64_t> parameters;
  std::vector<std::string> same{};
};

/// A candidate with a size and its score. Matches among the largest sizes and among all sizes raise the
/// score. Missing tensors lower it.
struct GuessedShape {
  size_t candidate = 0;
  int64_t element_bytes = 4;
  ClipCut cut;
  int64_t rows = 0, columns = 0;  ///< of the latent
  size_t matched = 0;
  int64_t score = 0;
  bool usual = false;
};

int32_t side_of(const Candidate& candidate) {
  const Graph& graph = candidate.model->graph;
  return graph.tensor(graph.output()).scale.y;
}

void rate(GuessedShape& trial, const Candidate& candidate, const RecordedSizes& sizes) {
  std::set<int64_t> tensors, parameters;
  int64_t missing = 0;
  for (const LayerSize& layer : candidate.layers) {
    bool recorded = layer.earlier_frames > 0;
    for (const int64_t bytes : bytes_of(layer, trial.cut, trial.rows, trial.columns, trial.element_bytes)) {
      tensors.insert(bytes);
      recorded = recorded || bytes < kLeastBytes || sizes.all.contains(bytes);
    }
    missing += recorded ? 0 : 1;
  }
  for (const int64_t elements : candidate.parameters) parameters.insert(elements * trial.element_bytes);
  for (const int64_t bytes : sizes.largest)
    trial.matched += tensors.contains(bytes) || parameters.contains(bytes);
  trial.score = static_cast<int64_t>(trial.matched) - kMissing * missing;
  for (const int64_t bytes : sizes.all) trial.score += tensors.contains(bytes) || parameters.contains(bytes);
  for (const int64_t bytes : sizes.others) trial.score += parameters.contains(bytes);
}

/// Shapes of a latent with this number of positions. Prefers usual sizes. Otherwise, takes the shapes closest
/// to a square.
std::vector<GuessedShape> shapes_of(const GuessedShape& trial, int64_t positions, int32_t side) {
  std::vector<GuessedShape> shapes;
  const auto add = [&](int64_t rows, int64_t columns, bool usual) {
    shapes.push_back(trial);
    shapes.back().rows = rows;
    shapes.back().columns = columns;
    shapes.back().usual = usual;
  };
  for (const auto& [width, height] : kUsualSizes) {
    if (width % side == 0 && height % side == 0 && width / side * (height / side) == positions)
      add(height / side, width / side, true);
  }
  if (!shapes.empty()) return shapes;
  const auto root = static_cast<int64_t>(std::sqrt(double(positions)));
  for (int64_t rows = root; rows > 0 && 2 * rows * rows >= positions && shapes.size() < kMostShapes; --rows) {
    if (positions % rows == 0) add(rows, positions / rows, false);
  }
  return shapes;
}

/// Candidate numbers of latent positions. Each large recorded size votes for the numbers that explain it.
std::vector<int64_t> positions_of(const Candidate& candidate, const GuessedShape& trial,
                                  const std::vector<int64_t>& largest) {
  std::map<int64_t, std::set<int64_t>> votes;
  for (const int64_t bytes : largest) {
    for (const LayerSize& layer : candidate.layers) {
      if (layer.border > 0 || layer.earlier_frames > 0) continue;
      for (const int64_t one : bytes_of(layer, trial.cut, 1, 1, trial.element_bytes))
        if (bytes % one == 0) votes[bytes / one].insert(bytes);
    }
  }
  std::vector<int64_t> found;
  for (const auto& [positions, voters] : votes)
    if (voters.size() >= kFewestVotes) found.push_back(positions);
  return found;
}

std::vector<ClipCut> cuts_of(const Candidate& candidate) {
  std::vector<ClipCut> cuts{{1, false}};
  if (!candidate.model->decodes_clips) return cuts;
  if (family_of(candidate.model->class_name).frame_by_frame) return {{1, true}, {2, true}};
  for (int64_t frames = 2; frames <= kMostLatentFrames; ++frames) cuts.push_back({frames, false});
  return cuts;
}

std::vector<GuessedShape> trials_of(const std::vector<Candidate>& candidates, const RecordedSizes& sizes) {
  std::vector<GuessedShape> trials;
  for (size_t i = 0; i < candidates.size(); ++i) {
    for (const int64_t element_bytes : {4, 2}) {
      for (const ClipCut& cut : cuts_of(candidates[i])) {
        GuessedShape trial{.candidate = i, .element_bytes = element_bytes, .cut = cut};
        for (const int64_t positions : positions_of(candidates[i], trial, sizes.largest)) {
          for (GuessedShape& shape : shapes_of(trial, positions, side_of(candidates[i]))) {
            rate(shape, candidates[i], sizes);
            trials.push_back(shape);
          }
        }
      }
    }
  }
  return trials;
}

/// Frames of a clip that was decoded frame by frame. The decode grows its output by concatenation, so each
/// intermediate length appears as an allocation.
int64_t frames_put_together(const GuessedShape& trial, const Candidate& candidate,
                            const RecordedSizes& sizes) {
  const Graph& graph = candidate.model->graph;
  const Tensor& output = graph.tensor(graph.output());
  const LayerSize size{output.channels, output.scale.y, output.scale.t};
  const auto put_together = [&](int64_t frames) {
    const ClipCut whole{frames, false};
    return sizes.all.contains(bytes_of(size, whole, trial.rows, trial.columns, trial.element_bytes).front());
  };
  int64_t frames = 1;
  while (trial.cut.latent_frames > 1 && put_together(frames + 1)) ++frames;
  return int64_t{size.frame_scale} * (frames - 1) + 1;
}

/// Distance of a picture from the model's usual size. Among models with equal layers, the nearest one names
/// the fit.
double strangeness(const std::string& model, const Request& request) {
  const std::string* config = built_in_config(model);
  const double usual = config == nullptr ? 0 : nlohmann::json::parse(*config).value("sample_size", 0.0);
  if (usual <= 0) return 0;
  return std::abs(std::log(double(std::max(request.width_pixels, request.height_pixels)) / usual));
}

DecoderFit fit_of(const GuessedShape& trial, const Candidate& candidate, const RecordedSizes& sizes) {
  const Graph& graph = candidate.model->graph;
  DecoderFit fit;
  fit.request.model = candidate.name;
  fit.request.width_pixels = trial.columns * side_of(candidate);
  fit.request.height_pixels = trial.rows * side_of(candidate);
  fit.request.frames =
      trial.cut.frame_by_frame
          ? frames_put_together(trial, candidate, sizes)
          : int64_t{graph.tensor(graph.output()).scale.t} * (trial.cut.latent_frames - 1) + 1;
  fit.request.dtype = trial.element_bytes == 4 ? Dtype::fp32 : Dtype::bf16;
  fit.same_decoder = candidate.same;
  fit.frames_known = !trial.cut.frame_by_frame || !sizes.refused;
  for (std::string& other : fit.same_decoder)
    if (strangeness(other, fit.request) < strangeness(fit.request.model, fit.request))
      std::swap(other, fit.request.model);
  return fit;
}

/// The trials with the best score. Empty if the best one explains too few sizes.
std::vector<GuessedShape> best_of(std::vector<GuessedShape> trials, const RecordedSizes& sizes) {
  const auto best =
      std::max_element(trials.begin(), trials.end(),
                       [](const GuessedShape& a, const GuessedShape& b) { return a.score < b.score; });
  if (best == trials.end() || best->matched < kFewestMatched || 3 * best->matched < 2 * sizes.largest.size())
    return {};
  std::erase_if(trials, [score = best->score](const GuessedShape& trial) { return trial.score < score; });
  if (std::any_of(trials.begin(), trials.end(), [](const GuessedShape& trial) { return trial.usual; }))
    std::erase_if(trials, [](const GuessedShape& trial) { return !trial.usual; });
  return trials;
}

/// Models of the class, or all if `class_name` is empty. Models with equal layers form one candidate.
std::vector<Candidate> candidates_of(const std::vector<Model>& models, const std::string& class_name) {
  std::vector<Candidate> candidates;
  for (const Model& model : models) {
    if (!class_name.empty() && model.class_name != class_name) continue;
    Candidate candidate{model.name, &model, layer_sizes(model.graph), parameter_sizes(model.graph)};
    const auto same = std::find_if(candidates.begin(), candidates.end(), [&](const Candidate& other) {
      return other.layers == candidate.layers && other.parameters == candidate.parameters &&
             other.model->class_name == model.class_name;
    });
    if (same == candidates.end()) {
      candidates.push_back(std::move(candidate));
    } else {
      same->same.push_back(model.name);
    }
  }
  return candidates;
}

const std::vector<Model>& built_in() {
  static const std::vector<Model> models = [] {
    std::vector<Model> all;
    for (const std::string& name : built_in_models()) all.push_back(resolve_model(name));
    return all;
  }();
  return models;
}

/// "AutoencoderX.decode in the stacks of 214 allocations and 9 of the 12 largest sizes of tensors".
std::string evidence_of(const DecoderGuess& guess) {
  std::string text;
  if (!guess.class_name.empty())
    text = guess.class_name + ".decode in the stacks of " +
           counted(guess.allocations, "allocation", "allocations");
  if (guess.matched == 0) return text;
  return text + (text.empty() ? "" : " and ") + std::to_string(guess.matched) + " of the " +
         std::to_string(guess.compared) + " largest sizes of tensors";
}

std::string same_words(const DecoderFit& fit) {
  std::string text;
  for (size_t i = 0; i < fit.same_decoder.size(); ++i)
    text += (i == 0 ? " (" + fit.request.model + " has the layers of " : ", ") + fit.same_decoder[i];
  return text + (text.empty() ? "" : ")");
}

std::string sure_sentence(const DecoderGuess& guess) {
  const DecoderFit& fit = guess.fits.front();
  return "Guessed from " + evidence_of(guess) + ": " + words_of(fit) + same_words(fit) +
         "; override with --model and --size.";
}

std::string alike_sentence(const DecoderGuess& guess) {
  std::string text = "From " + evidence_of(guess) + " these fit alike: ";
  for (size_t i = 0; i < guess.fits.size(); ++i) text += (i == 0 ? "" : ", ") + words_of(guess.fits[i]);
  return text + same_words(guess.fits.front()) + ". Pass --model, --size and --dtype to choose one.";
}

std::string open_sentence(const DecoderGuess& guess) {
  const std::string name = "name the decoder and the size with --model and --size to see it here.";
  if (guess.class_name.empty()) return "Neither the decoder nor the size was recognised: " + name;
  const std::string who = "The decoder is an " + guess.class_name + " by " + evidence_of(guess);
  if (!guess.known_class) return who + ", which no built-in model is: " + name;
  if (guess.tiled) return who + "; it decoded tiles, whose tensors do not tell the picture's size: " + name;
  return who + "; the size was not recognised by its tensors: " + name;
}

}  // namespace

std::string words_of(const DecoderFit& fit) {
  const Request& request = fit.request;
  return request.model + " " + std::to_string(request.width_pixels) + "x" +
         std::to_string(request.height_pixels) + " " +
         (request.frames > 1 ? std::to_string(request.frames) + " frames " : "") +
         (request.dtype == Dtype::fp32 ? "fp32" : "bf16 or fp16");
}

std::vector<std::string> guess_sentences(const DecoderGuess& guess) {
  if (guess.fits.empty()) return {open_sentence(guess)};
  if (guess.fits.size() > 1) return {alike_sentence(guess)};
  const DecoderFit& fit = guess.fits.front();
  std::vector<std::string> sentences{sure_sentence(guess)};
  if (!fit.frames_known)
    sentences.push_back(
        "The clip had at least these frames before memory ran out: name it with --model, --size "
        "and --frames to see it here.");
  sentences.push_back(
      "Tensor sizes do not show which side is the width, or whether a batch has several smaller pictures.");
  return sentences;
}

DecoderGuess guess_decoder(const profiler::MemoryHistory& history, const profiler::DeviceHistory& device,
                           const std::optional<Model>& model) {
  const std::optional<profiler::DecodingClass> decoding = profiler::decoding_class(history.stacks, device);
  DecoderGuess guess;
  if (decoding) {
    guess.class_name = decoding->name;
    guess.allocations = decoding->allocations;
    guess.tiled = decoding->tiled;
  }
  const std::vector<Model> given = model ? std::vector<Model>{*model} : std::vector<Model>{};
  const std::vector<Candidate> candidates =
      model ? candidates_of(given, "") : candidates_of(built_in(), guess.class_name);
  guess.known_class = !candidates.empty();
  if (guess.tiled) return guess;
  const RecordedSizes sizes = sizes_of(device, decoding);
  guess.compared = sizes.largest.size();
  for (const GuessedShape& trial : best_of(trials_of(candidates, sizes), sizes)) {
    guess.matched = trial.matched;
    const DecoderFit fit = fit_of(trial, candidates[trial.candidate], sizes);
    const bool listed = std::any_of(guess.fits.begin(), guess.fits.end(),
                                    [&](const DecoderFit& other) { return other.request == fit.request; });
    if (!listed) guess.fits.push_back(fit);
  }
  return guess;
}

}  // namespace headroom::reports
