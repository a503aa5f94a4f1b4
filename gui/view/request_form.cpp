#include "gui/view/request_form.h"

#include <QComboBox>
#include <QFileDialog>
#include <QFileInfo>
#include <QFormLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSpinBox>
#include <QStorageInfo>
#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>

#include "decoder/base/amounts.h"
#include "decoder/base/errors.h"
#include "decoder/families/built_in_models.h"
#include "decoder/weights/open_model.h"
#include "gui/model/figure_text.h"
#include "gui/model/groundwork.h"
#include "gui/view/input_fields.h"
#include "gui/view/plain_text.h"
#include "planner/cost/profile_check.h"

namespace headroom::gui {

namespace {

constexpr int kChosen = 0;  // milliseconds
constexpr int kMostPixels = 1 << 20;
constexpr std::array kFirstRows{"--model", "--size", "--device", "--dtype"};

QString without_mnemonic(QString label) {
  return label.remove('&');
}

QString weights_name(int entry) {
  switch (entry) {
    case 0:
      return RequestForm::tr("whichever is faster");
    case 1:
      return RequestForm::tr("on the device throughout");
    default:
      return RequestForm::tr("loaded pass by pass");
  }
}

/// The choices for TF32, in the order of the field's entries.
constexpr std::array kTf32Shown{Tf32{}, Tf32{.convolutions = true}, Tf32{.products = true},
                                Tf32{.convolutions = true, .products = true}};

QString tf32_name(const Tf32& tf32) {
  if (!tf32.any()) return RequestForm::tr("off: full fp32");
  if (!tf32.products) return RequestForm::tr("in convolutions");
  return tf32.convolutions ? RequestForm::tr("in convolutions and matrix products")
                           : RequestForm::tr("in matrix products");
}

QString share_text(double share) {
  return QString::number(100 * share) + QLatin1Char('%');
}

/// Thrift in a field, by default that of the programs. Throws InputError.
double thrift_in(const QLineEdit& field) {
  const std::string text = field.text().trimmed().toStdString();
  return text.empty() ? planner::kDefaultThrift : parse_share(text, "--thrift");
}

/// Writes thrift into a field. Keeps the typed text if it means the same share.
void show_thrift(QLineEdit& field, double share) {
  try {
    if (thrift_in(field) == share) return;
  } catch (const InputError&) {
  }
  field.setText(share == planner::kDefaultThrift ? QString() : share_text(share));
}

bool can_use_tf32(Request request) {
  request.tf32 = kTf32Shown.back();
  return wrong_tf32(request).empty();
}

constexpr std::optional<WeightResidency> kWeights[] = {std::nullopt, WeightResidency::resident,
                                                       WeightResidency::per_pass};

/// Dtype that a model decodes in for `asked`. Returns `asked` if the model cannot be opened.
Dtype decoded_in(const std::string& model, Dtype asked) {
  try {
    return decoding_dtype(open_model(model), asked);
  } catch (const std::runtime_error&) {
    return asked;
  }
}

}  // namespace

RequestForm::RequestForm(Workspace& workspace, QWidget* parent, Rows rows)
    : QWidget(parent), workspace_(workspace) {
  rows_ = new QFormLayout(this);
  rows_->setContentsMargins({});
  rows_->setRowWrapPolicy(QFormLayout::WrapAllRows);
  rows_->setFieldGrowthPolicy(QFormLayout::AllNonFixedFieldsGrow);
  buildModel();
  buildDirection();
  buildSize();
  buildDevice();
  buildStorage();
  buildThrift();
  buildPlaces();
  buildProfile();
  if (rows == Rows::first) buildMore();
  pause_.setSingleShot(true);
  connect(&pause_, &QTimer::timeout, this, &RequestForm::apply);
  connect(&workspace_, &Workspace::questionChanged, this, [this] {
    // If only the limit changes, the fields keep what the user is typing.
    if (!same_but_limit(workspace_.question(), shown_)) showQuestion();
  });
  connect(&workspace_, &Workspace::documentsChanged, this, &RequestForm::listProfiles);
  showQuestion();
  pause_.stop();  // setting the first values is no choice of the user
  if (workspace_.question().request.width_pixels > 0) return;
  if (std::optional<PlanningQuestion> question = read()) {
    question->by_default = true;
    QTimer::singleShot(0, this, [this, question = *std::move(question)] {
      if (workspace_.question().request.width_pixels <= 0) workspace_.ask(question);
    });
  }
}

void RequestForm::buildModel() {
  model_ = new QComboBox(this);
  model_->setObjectName("model");
  model_->setEditable(true);
  model_->setInsertPolicy(QComboBox::NoInsert);
  model_->setMinimumContentsLength(12);
  model_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  for (const std::string& name : built_in_models()) model_->addItem(QString::fromStdString(name));
  connect(model_, &QComboBox::currentTextChanged, this, [this] { changed(kTypingMilliseconds); });
  QWidget* editor = withFolderButton(model_, tr("Folder of a model"),
                                     [this](const QString& folder) { model_->setCurrentText(folder); });
  addRow(tr("&Model"), editor, "--model",
         tr("The VAE: a built-in name, or a folder in diffusers' layout with config.json. Planning needs no "
            "weights."));
}

void RequestForm::buildDirection() {
  direction_ = new QComboBox(this);
  direction_->setObjectName("direction");
  direction_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  direction_->addItem(tr("decode: latent to picture"));
  direction_->addItem(tr("encode: picture to latent"));
  connect(direction_, &QComboBox::currentIndexChanged, this, [this] {
    listProfiles();
    changed(kChosen);
  });
  addRow(
      tr("Dir&ection"), direction_, "--direction",
      tr("A decode makes a picture or clip from a latent. An encode makes the latent of a picture or clip."));
}

void RequestForm::buildSize() {
  width_ = number(kMostPixels, "width");
  height_ = number(kMostPixels, "height");
  for (QSpinBox* box : {width_, height_}) {
    box->setSingleStep(64);
    box->setValue(1024);
  }
  auto* editor = new QWidget(this);
  auto* row = new QHBoxLayout(editor);
  row->setContentsMargins({});
  row->addWidget(width_, 1);
  row->addWidget(new PlainLabel("×", editor));
  row->addWidget(height_, 1);
  editor->setFocusProxy(width_);
  addRow(tr("Si&ze in pixels"), editor, "--size",
         tr("Width × height of the picture, multiples of the factor between latent and picture."));
  width_->setAccessibleName(tr("Width in pixels"));
  height_->setAccessibleName(tr("Height in pixels"));
  frames_ = number(1 << 20, "frames");
  addRow(tr("F&rames"), frames_, "--frames", tr("Frames of a clip; 1 for pictures."));
  batch_ = number(4096, "batch");
  addRow(tr("&Batch"), batch_, "--batch",
         tr("Pictures in one latent: a plan runs them together or one after another, whichever fits and is "
            "faster."));
}

void RequestForm::buildDevice() {
  device_ = new QComboBox(this);
  device_->setObjectName("device");
  for (const DeviceRecord& device : all_devices())
    if (device.in_programs) device_->addItem(QString::fromLatin1(device.title));
  connect(device_, &QComboBox::currentIndexChanged, this, [this] {
    showDevice();
    changed(kChosen);
  });
  addRow(tr("&Device"), device_, "--device",
         tr("The device that the plan is for. You can plan for a GPU on a machine without one."));
}

void RequestForm::buildStorage() {
  dtype_ = new QComboBox(this);
  dtype_->setObjectName("dtype");
  for (const Dtype dtype : {Dtype::fp32, Dtype::bf16, Dtype::fp16}) dtype_->addItem(name_of(dtype));
  connect(dtype_, &QComboBox::currentIndexChanged, this, [this] { changed(kChosen); });
  addRow(tr("Dt&ype"), dtype_, "--dtype",
         tr("Data type of kept tensors. 16 bits take half the memory of fp32."));
  tf32_ = new QComboBox(this);
  tf32_->setObjectName("tf32");
  tf32_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  for (const Tf32& choice : kTf32Shown) tf32_->addItem(tf32_name(choice));
  connect(tf32_, &QComboBox::currentIndexChanged, this, [this] { changed(kChosen); });
  addRow(tr("TF3&2"), tf32_, "--tf32",
         tr("Work in fp32 on a GPU that may round its inputs to 10 bits of mantissa. It takes less time. Its "
            "largest error with SDXL was 0.3 % of the largest value. PyTorch rounds in convolutions by "
            "default."));
  weights_ = new QComboBox(this);
  weights_->setObjectName("weights");
  for (int i = 0; i < 3; ++i) weights_->addItem(weights_name(i));
  weights_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  connect(weights_, &QComboBox::currentIndexChanged, this, [this] { changed(kChosen); });
  addRow(tr("&Weights"), weights_, "--weights-residency",
         tr("When the model's parameters are on the device: all of them throughout, or only those of the "
            "pass that "
            "runs, which takes less memory and some time for bringing them in."));
}

QLineEdit* RequestForm::line(const QString& name, const QString& placeholder) {
  auto* field = new QLineEdit(this);
  field->setObjectName(name);
  field->setPlaceholderText(placeholder);
  connect(field, &QLineEdit::textEdited, this, [this] { changed(kTypingMilliseconds); });
  connect(field, &QLineEdit::editingFinished, this, [this] {
    if (pause_.isActive()) changed(kChosen);
  });
  return field;
}

void RequestForm::buildThrift() {
  thrift_ = line(QStringLiteral("thrift"), share_text(planner::kDefaultThrift));
  addRow(tr("Thri&ft"), thrift_, "--thrift",
         tr("Share of time to give for memory: of the plans that take at most this much longer than the "
            "fastest, the planner takes a small one. 0: the fastest plan."));
}

void RequestForm::buildPlaces() {
  host_limit_ = line(QStringLiteral("host-limit"), tr("none"));
  addRow(tr("Hos&t memory"), host_limit_, "--host-limit",
         tr("Host memory that kept tensors may use, so that fewer of them are on the GPU: 8GiB."));
  scratch_folder_ = line(QStringLiteral("scratch"), tr("none"));
  QWidget* editor =
      withFolderButton(scratch_folder_, tr("Folder for a scratch file"), [this](const QString& folder) {
        scratch_folder_->setText(folder);
        changed(kChosen);
      });
  addRow(tr("Scratch f&older"), editor, "--scratch",
         tr("A folder on a disk, where kept tensors may live in a file: less memory, and time for moving "
            "them."));
  scratch_limit_ = line(QStringLiteral("scratch-limit"), tr("the free space there"));
  addRow(tr("Scratch l&imit"), scratch_limit_, "--scratch-limit",
         tr("The largest that the scratch file may get."));
}

void RequestForm::buildProfile() {
  profile_ = new QComboBox(this);
  profile_->setObjectName("profile");
  profile_->setMinimumContentsLength(12);
  profile_->setSizeAdjustPolicy(QComboBox::AdjustToMinimumContentsLengthWithIcon);
  connect(profile_, &QComboBox::currentIndexChanged, this, [this] { changed(kChosen); });
  addRow(tr("&Costs"), profile_, "--profile",
         tr("Source of the layers' times. Without an open profile of your machine, the planner "
            "assumes the costs of another one."));
}

QSpinBox* RequestForm::number(int most, const QString& name) {
  auto* box = new QSpinBox(this);
  box->setObjectName(name);
  box->setRange(1, most);
  connect(box, &QSpinBox::valueChanged, this, [this] { changed(kTypingMilliseconds); });
  connect(box, &QSpinBox::editingFinished, this, [this] {
    if (pause_.isActive()) changed(kChosen);
  });
  return box;
}

QWidget* RequestForm::withFolderButton(QWidget* field, const QString& caption,
                                       const std::function<void(const QString&)>& take) {
  return with_chooser(field, tr("Choose a folder…"), caption, [this, caption, take] {
    const QString folder = QFileDialog::getExistingDirectory(this, caption);
    if (!folder.isEmpty()) take(folder);
  });
}

void RequestForm::addRow(const QString& label, QWidget* editor, const std::string& option,
                         const QString& explanation) {
  auto* cell = new QWidget(this);
  auto* column = new QVBoxLayout(cell);
  column->setContentsMargins({});
  column->addWidget(editor);
  notes_[option] = new InputNote(cell);
  notes_[option]->setObjectName("note" + QString::fromStdString(option));
  column->addWidget(notes_[option]);
  hints_[option] = new PlainLabel(cell);
  hints_[option]->setWordWrap(true);
  hints_[option]->hide();
  column->addWidget(hints_[option]);
  auto* text = new PlainLabel(label, this);
  QWidget* field = editor->focusProxy() ? editor->focusProxy() : editor;
  text->setBuddy(field);
  text->setToolTip(explanation);
  field->setToolTip(explanation);
  field->setAccessibleName(without_mnemonic(label));
  rows_->addRow(text, cell);
}

void RequestForm::changed(int pause_milliseconds) {
  pause_.start(pause_milliseconds);
}

void RequestForm::apply() {
  const std::optional<PlanningQuestion> question = read();
  Q_EMIT validated(valid_);
  if (!question) return;
  const PlanningQuestion& before = workspace_.question();
  if (before.by_default || !same_but_limit(*question, before)) workspace_.ask(*question);
}

QString RequestForm::assumedFor(const DeviceRecord& device) {
  return device.is_host ? tr("assumed for 2 CPU cores") : tr("assumed for an H100 GPU");
}

const DeviceRecord& RequestForm::device() const {
  return all_devices().at(static_cast<size_t>(std::max(device_->currentIndex(), 0)));
}

Direction RequestForm::direction() const {
  return kDirections.at(static_cast<size_t>(direction_->currentIndex()));
}

void RequestForm::showDevice() {
  showRows();
  listProfiles();
}

void RequestForm::buildMore() {
  more_ = new QPushButton(tr("All fields"), this);
  more_->setObjectName("all-fields");
  more_->setCheckable(true);
  rows_->addRow(more_);
  connect(more_, &QPushButton::toggled, this, &RequestForm::showRows);
}

void RequestForm::showRows() {
  const bool gpu = !device().is_host;
  const bool all = more_ == nullptr || more_->isChecked();
  for (const auto& [option, note] : notes_) {
    const bool serves = option.starts_with("--host") ? gpu : option.starts_with("--scratch") ? !gpu : true;
    const bool first = std::find(kFirstRows.begin(), kFirstRows.end(), option) != kFirstRows.end();
    rows_->setRowVisible(note->parentWidget(), serves && (all || first));
  }
}

void RequestForm::showQuestion() {
  const QSignalBlocker blockers[] = {
      QSignalBlocker(model_),     QSignalBlocker(width_),   QSignalBlocker(height_), QSignalBlocker(frames_),
      QSignalBlocker(batch_),     QSignalBlocker(weights_), QSignalBlocker(dtype_),  QSignalBlocker(device_),
      QSignalBlocker(direction_), QSignalBlocker(tf32_)};
  shown_ = workspace_.question();
  const Request& request = shown_.request;
  const QString model = QString::fromStdString(request.model);
  if (model_->currentText() != model) model_->setCurrentText(model);
  const auto set = [](QSpinBox* box, int64_t value) {
    if (value > 0) box->setValue(static_cast<int>(std::min<int64_t>(value, box->maximum())));
  };
  set(width_, request.width_pixels);
  set(height_, request.height_pixels);
  set(frames_, request.frames);
  set(batch_, request.batch);
  // The model may decode in another dtype than the chosen one. The form keeps the choice then.
  const Dtype chosen = parse_dtype(dtype_->currentText().toStdString());
  if (decoded_in(request.model, chosen) != request.dtype) dtype_->setCurrentText(name_of(request.dtype));
  for (int i = 0; i < weights_->count(); ++i) {
    if (kWeights[i] == shown_.options.weights) weights_->setCurrentIndex(i);
  }
  // Outside fp32 on a GPU the request has none. The form keeps the choice then.
  if (can_use_tf32(request)) {
    const auto* at = std::find(kTf32Shown.begin(), kTf32Shown.end(), request.tf32);
    tf32_->setCurrentIndex(static_cast<int>(at - kTf32Shown.begin()));
  }
  device_->setCurrentIndex(static_cast<int>(request.device));
  direction_->setCurrentIndex(static_cast<int>(request.direction));
  show_thrift(*thrift_, shown_.options.thrift);
  show_bytes(*host_limit_, shown_.options.host_limit_bytes);
  const QString folder = QString::fromStdString(shown_.options.scratch_folder);
  const bool same_folder = scratch_folder_->text().trimmed() == folder;
  if (!same_folder) scratch_folder_->setText(folder);
  // An empty limit means the free space of the folder.
  if (!same_folder || !scratch_limit_->text().trimmed().isEmpty())
    show_bytes(*scratch_limit_, shown_.options.scratch_limit_bytes);
  showDevice();
  read();
}

void RequestForm::listProfiles() {
  const QSignalBlocker blocker(profile_);
  profiles_ = {nullptr};
  profile_->clear();
  profile_->addItem(assumedFor(device()));
  const auto add = [this](const reports::DocumentPtr& document) {
    const auto* profile = document == nullptr ? nullptr : document->as<profiler::Profile>();
    Request chosen;
    chosen.device = device().kind;
    chosen.direction = direction();
    if (profile == nullptr || !serves(*profile, chosen)) return;
    if (std::find(profiles_.begin(), profiles_.end(), document) != profiles_.end()) return;
    profiles_.push_back(document);
    profile_->addItem(QString::fromStdString(document->file.filename().string()));
    profile_->setItemData(profile_->count() - 1,
                          plain_tooltip(QString::fromStdString(reports::summary(*document))),
                          Qt::ToolTipRole);
  };
  for (const reports::DocumentPtr& document : workspace_.documents()) add(document);
  const reports::DocumentPtr& asked = workspace_.question().profile;
  add(asked);
  const auto at =
      std::find(profiles_.begin(), profiles_.end(), asked);  // the user may have changed the device
  profile_->setCurrentIndex(at == profiles_.end() ? 0 : static_cast<int>(at - profiles_.begin()));
}

template <typename Part>
void RequestForm::attempt(const std::string& option, const Part& part) {
  try {
    part();
  } catch (const std::runtime_error& error) {  // includes disk errors
    // The message appears at its field, so the option's name ("--frames: ") is dropped.
    const std::string text = error.what();
    const std::string named = text.substr(0, text.find_first_of(" :"));
    const size_t colon = text.find(": ");
    if (colon != std::string::npos && notes_.contains(named)) {
      notes_.at(named)->say(QString::fromStdString(text.substr(colon + 2)));
    } else {
      notes_.at(option)->say(QString::fromStdString(text));
    }
    valid_ = false;
  }
}

void RequestForm::hint(const std::string& option, const QString& text) {
  hints_.at(option)->setText(text);
  hints_.at(option)->setVisible(!text.isEmpty());
}

std::optional<PlanningQuestion> RequestForm::read() {
  for (const auto& [option, note] : notes_) note->say({});
  for (const auto& [option, line] : hints_) line->hide();
  valid_ = true;
  PlanningQuestion question = workspace_.question();
  question.by_default = false;
  Request& request = question.request;
  request.model = model_->currentText().trimmed().toStdString();
  request.width_pixels = width_->value();
  request.height_pixels = height_->value();
  request.frames = frames_->value();
  request.batch = batch_->value();
  request.device = device().kind;
  set_direction(request, direction());
  request.dtype = parse_dtype(dtype_->currentText().toStdString());
  question.options.weights = kWeights[std::max(weights_->currentIndex(), 0)];
  question.profile = profiles_[static_cast<size_t>(std::max(profile_->currentIndex(), 0))];
  attempt("--model", [&] {
    Model model = open_model(request.model);
    attempt("--direction", [&] { model = model_for(model, request); });
    attempt("--size",
            [&] { latent_extent(model, request.width_pixels, request.height_pixels, request.frames); });
    if (decoding_dtype(model, request.dtype) != request.dtype) {
      request.dtype = decoding_dtype(model, request.dtype);
      hint("--dtype",
           tr("decodes in %1: the model's config.json has force_upcast").arg(name_of(request.dtype)));
    }
    tf32_->setEnabled(can_use_tf32(request));
    request.tf32 = can_use_tf32(request) ? kTf32Shown[size_t(std::max(tf32_->currentIndex(), 0))] : Tf32{};
    if (question.profile) {
      attempt("--profile", [&] {
        planner::check_profiled_model(*question.profile->as<profiler::Profile>(),
                                      question.profile->file.string(), model.graph, request);
      });
    }
  });
  if (question.profile) {
    try {
      planner::check_profiled_machine(*question.profile->as<profiler::Profile>(),
                                      question.profile->file.string());
    } catch (const InputError&) {
      const std::string& device = question.profile->as<profiler::Profile>()->device;
      if (valid_)
        hint("--profile", tr("plans are for another machine: %1").arg(QString::fromStdString(device)));
    }
  }
  attempt("--thrift", [&] { question.options.thrift = thrift_in(*thrift_); });
  attempt("--scratch", [&] { readPlaces(question); });
  if (!valid_ && more_ != nullptr) more_->setChecked(true);  // the error may be at a hidden field
  return valid_ ? std::optional(question) : std::nullopt;
}

void RequestForm::readPlaces(PlanningQuestion& question) const {
  planner::PlanOptions& options = question.options;
  const bool gpu = !device().is_host;
  options.host_limit_bytes = gpu ? bytes_in(*host_limit_, "--host-limit") : 0;
  const QString folder = gpu ? QString() : scratch_folder_->text().trimmed();
  const int64_t limit = gpu ? 0 : bytes_in(*scratch_limit_, "--scratch-limit");
  const bool same_folder = folder.toStdString() == options.scratch_folder && options.scratch_limit_bytes > 0;
  options.scratch_folder = folder.toStdString();
  if (folder.isEmpty()) {
    if (limit > 0)
      throw InputError("--scratch-limit: " + tr("expected a scratch folder as well").toStdString());
    options.scratch_limit_bytes = 0;
  } else if (!QFileInfo(folder).isDir()) {
    throw InputError("--scratch: " + tr("expected a folder that exists").toStdString());
  } else if (!scratch_limit_->text().trimmed().isEmpty()) {
    options.scratch_limit_bytes = limit;
  } else if (!same_folder) {
    options.scratch_limit_bytes = QStorageInfo(folder).bytesAvailable();
  }
}

}  // namespace headroom::gui
