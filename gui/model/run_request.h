#pragma once

#include <QCoreApplication>
#include <QString>
#include <QStringList>
#include <vector>

namespace headroom::gui {

/// Inputs of a run, in the order in which they are asked for.
enum class RunField { model, weights, seed, latent, latent_scale, plan, limit, sizes, output };

struct RunProblem {
  RunField field;
  QString text;  ///< what is wrong with it, to stand beside it
};

/// A run of headroom-decode or headroom-profile as it is filled in.
struct RunRequest {
  enum class Kind {
    decode,
    measure,  ///< headroom-profile at some sizes
  };
  Kind kind = Kind::decode;
  QString model;  ///< folder or built-in name
  bool random_weights = false;
  QString weights;                     ///< folder; the model's own where empty
  QString seed = QStringLiteral("0");  ///< of random weights
  QString latent;
  QString latent_scale;  ///< a word of --latent-scale; empty: as given, and the program says what it sees
  bool by_plan = true;   ///< run a plan, not plan now for a limit
  QString plan;          ///< its file
  QString limit;
  QString sizes;  ///< of measuring: 512x512,1024x1024
  QString output;
  bool record_trace = true;
};

/// Files that a run writes beside its output.
struct RunFiles {
  QString stats;    ///< empty where there is none
  QString trace;    ///< likewise
  QString preview;  ///< likewise
};

/// Problems that keep a run from starting, at most one for each field. The check looks for files and reads
/// configs. The program itself checks latents and weights.
class RunCheck {
  Q_DECLARE_TR_FUNCTIONS(headroom::gui::RunCheck)
 public:
  static std::vector<RunProblem> problems(const RunRequest& request);
};

/// File suffixes that headroom-decode can write, with the dot.
QStringList decoded_suffixes();

/// The program's name: "headroom-decode".
QString program_of(const RunRequest& request);

/// Statistics and trace stand beside the output and are named after it: picture.stats.json. The preview goes
/// to `folder`, since it lasts no longer than the run.
RunFiles files_of(const RunRequest& request, const QString& folder);

/// The program's arguments, progress lines included.
QStringList arguments_of(const RunRequest& request, const RunFiles& files);

/// Files to open after the run.
QStringList results_of(const RunRequest& request, const RunFiles& files);

}  // namespace headroom::gui
