#include "gui/model/run_request.h"

#include <QDir>
#include <QFileInfo>
#include <algorithm>
#include <optional>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/families/built_in_models.h"
#include "decoder/files/latent_file.h"
#include "decoder/files/output_format.h"
#include "decoder/files/picture_sink.h"
#include "decoder/graph/model.h"
#include "decoder/weights/open_model.h"

namespace headroom::gui {
namespace {

/// The error message of a check, empty if it passes. The message stands beside its field, so the leading
/// field name is removed.
template <typename Check>
QString complaint(const char* name, const Check& check) {
  try {
    check();
    return {};
  } catch (const std::runtime_error& error) {  // includes disk errors
    const QString text = QString::fromStdString(error.what());
    const QString named = QString::fromLatin1(name) + QStringLiteral(": ");
    return text.startsWith(named) ? text.mid(named.size()) : text;
  }
}

const QStringList kLatentSuffixes{QStringLiteral(".npy"), QStringLiteral(".safetensors"),
                                  QStringLiteral(".pt"), QStringLiteral(".latent")};

/// The file of a latent. A latent may also name a tensor in its file: latent.safetensors:key.
QString file_of_latent(const QString& latent) {
  for (const QString& suffix : kLatentSuffixes) {
    const qsizetype key = latent.lastIndexOf(suffix + QLatin1Char(':'));
    if (key >= 0) return latent.left(key + suffix.size());
  }
  return latent;
}

bool is_latent(const QString& file) {
  return std::any_of(kLatentSuffixes.begin(), kLatentSuffixes.end(),
                     [&](const QString& suffix) { return file.endsWith(suffix); });
}

/// Previews have no alpha channel, so headroom-decode refuses a preview of a picture with one.
bool decodes_alpha(const QString& model) {
  try {
    const Graph graph = open_model(model.toStdString()).graph;
    return graph.tensor(graph.output()).channels == kRgbaChannels;
  } catch (const std::runtime_error&) {  // the run reports the error
    return false;
  }
}

/// Layers are measured for decodes.
Direction direction_of(RunRequest::Kind kind) {
  return kind == RunRequest::Kind::encode ? Direction::encode : Direction::decode;
}

}  // namespace

std::vector<RunProblem> RunCheck::problems(const RunRequest& request) {
  std::vector<RunProblem> found;
  const auto report = [&](RunField field, const QString& text) {
    const bool first = std::none_of(found.begin(), found.end(),
                                    [&](const RunProblem& problem) { return problem.field == field; });
    if (first && !text.isEmpty()) found.push_back({field, text});
  };
  const bool measures = request.kind == RunRequest::Kind::measure;

  if (request.model.isEmpty()) report(RunField::model, tr("A folder with config.json, or a built-in name."));
  std::optional<Model> model;
  report(RunField::model, complaint("model", [&] {
           model = for_direction(open_model(request.model.toStdString()), direction_of(request.kind));
         }));

  if (request.random_weights) {
    bool is_number = false;
    request.seed.toULongLong(&is_number);
    if (!is_number) report(RunField::seed, tr("A whole number of at least 0."));
  } else if (!request.weights.isEmpty()) {
    if (!QFileInfo::exists(request.weights)) report(RunField::weights, tr("There is no such folder."));
  } else if (!measures && model && built_in_config(model->config_file) != nullptr) {
    report(RunField::weights,
           tr("A built-in model has no weights of its own: choose a folder or random weights."));
  }

  if (request.kind == RunRequest::Kind::decode) {
    const QString latent = file_of_latent(request.latent);
    if (!is_latent(latent)) {
      report(RunField::latent, tr("A file in .npy, .safetensors, .pt or .latent."));
    } else if (!QFileInfo(latent).isFile()) {
      report(RunField::latent, tr("There is no such file."));
    }
  } else if (request.kind == RunRequest::Kind::encode) {
    if (!QFileInfo::exists(file_of_latent(request.picture)))
      report(RunField::picture, tr("There is no such file or folder."));
  }
  if (!measures) {
    if (request.by_plan) {
      if (request.plan.isEmpty()) {
        report(RunField::plan, tr("No such plan is open: open one, or give a limit."));
      } else if (!QFileInfo(request.plan).isFile()) {
        report(RunField::plan, tr("There is no such file."));
      }
    } else if (request.limit.isEmpty()) {
      report(RunField::limit, tr("Bytes such as 1.2GiB, or auto."));
    } else if (request.limit != QStringLiteral("auto")) {
      report(RunField::limit, complaint("limit", [&] { parse_bytes(request.limit.toStdString(), "limit"); }));
    }
  } else {
    report(RunField::sizes, complaint("sizes", [&] {
             for (const auto& [width, height] : parse_sizes(request.sizes.toStdString(), "sizes")) {
               if (model) latent_extent(*model, width, height, 1);
             }
           }));
  }

  const QFileInfo output(request.output);
  const QStringList suffixes = output_suffixes_of(request.kind);
  if (!suffixes.contains(QLatin1Char('.') + output.suffix().toLower())) {
    report(RunField::output,
           tr("A file in one of these formats: %1.").arg(suffixes.join(QStringLiteral(", "))));
  } else if (!output.dir().exists()) {
    report(RunField::output, tr("Its folder does not exist."));
  }
  return found;
}

QStringList output_suffixes_of(RunRequest::Kind kind) {
  if (kind == RunRequest::Kind::measure) return {QStringLiteral(".json")};
  QStringList suffixes;
  for (const std::string& suffix :
       kind == RunRequest::Kind::decode ? output_suffixes() : latent_output_suffixes())
    suffixes << QString::fromStdString(suffix);
  return suffixes;
}

QString program_of(const RunRequest& request) {
  return request.kind == RunRequest::Kind::measure ? QStringLiteral("headroom-profile")
                                                   : QStringLiteral("headroom-decode");
}

RunFiles files_of(const RunRequest& request, const QString& folder) {
  if (request.kind == RunRequest::Kind::measure) return {};
  const QFileInfo output(request.output);
  const QString stem = output.dir().filePath(output.completeBaseName());
  if (request.kind == RunRequest::Kind::encode) return {stem + QStringLiteral(".stats.json"), {}, {}};
  return {stem + QStringLiteral(".stats.json"),
          request.record_trace ? stem + QStringLiteral(".trace.json") : QString(),
          decodes_alpha(request.model) ? QString() : QDir(folder).filePath(QStringLiteral("preview.ppm"))};
}

QStringList arguments_of(const RunRequest& request, const RunFiles& files) {
  QStringList words;
  if (request.kind == RunRequest::Kind::encode) words << QStringLiteral("encode");
  words << QStringLiteral("--progress") << QStringLiteral("lines") << QStringLiteral("--model")
        << request.model;
  const auto add = [&](const char* option, const QString& value) {
    if (!value.isEmpty()) words << QString::fromLatin1(option) << value;
  };
  if (request.random_weights) {
    add("--random-weights", request.seed);
  } else {
    add("--weights", request.weights);
  }
  if (request.kind == RunRequest::Kind::measure) {
    add("--sizes", request.sizes);
    add("--device", request.device);
  } else if (request.by_plan) {
    add("--plan", request.plan);
  } else {
    add("--limit", request.limit);
    add("--device", request.device);
  }
  if (request.kind == RunRequest::Kind::encode) add("--picture", request.picture);
  if (request.kind == RunRequest::Kind::decode) {
    add("--latent", request.latent);
    add("--latent-scale", request.latent_scale);
    if (request.verify) words << QStringLiteral("--verify");
  }
  add("--stats", files.stats);
  add("--trace", files.trace);
  add("--preview", files.preview);
  add("--output", request.output);
  return words;
}

QStringList results_of(const RunRequest& request, const RunFiles& files) {
  QStringList results = request.kind == RunRequest::Kind::measure ? QStringList{request.output}
                                                                  : QStringList{files.stats, files.trace};
  results.removeAll(QString());
  return results;
}

}  // namespace headroom::gui
