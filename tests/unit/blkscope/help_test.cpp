#include "tools/blkscope/help.hpp"

#include <gtest/gtest.h>

#include <memory>

#include "tools/blkscope/option_forms.hpp"

namespace blkscope {
namespace {

const std::vector<std::string> commands{"serve", "attach", "detach", "list", "stats", "top"};

TEST(Help, NamesTheNearestCommand) {
    EXPECT_EQ(no_such_command("srv", commands),
              "there is no command 'srv'; the nearest is 'serve'");
    for (const auto& [word, nearest] :
         {std::pair{"server", "serve"}, std::pair{"ls", "list"}, std::pair{"detatch", "detach"},
          std::pair{"stat", "stats"}, std::pair{"tpo", "top"}, std::pair{"Serve", "serve"}}) {
        EXPECT_NE(no_such_command(word, commands).find(std::string("'") + nearest + "'"),
                  std::string::npos)
            << no_such_command(word, commands);
    }
}

TEST(Help, NamesAllCommandsWhereNoneIsNear) {
    EXPECT_EQ(
        no_such_command("quickstart", commands),
        "there is no command 'quickstart'; there are serve, attach, detach, list, stats, top");
}

TEST(Help, SaysRangesDefaultsAndWhatGoesTogetherInWords) {
    CLI::App app("Serves");
    app.formatter(std::make_shared<HelpFormatter>());
    unsigned depth = 8;
    std::string mode;
    bool flag = false;
    bool other = false;
    CLI::Option* number = app.add_option("--depth", depth, "At once")->capture_default_str();
    number->check(CLI::Range(1U, 64U));
    app.add_option("--mode", mode, "How")
        ->check(CLI::IsMember({"on", "off", "auto"}))
        ->needs(number);
    app.add_option("--socket", mode, "Where")->option_text("PATH");
    app.add_flag("-f,--flag", flag, "A flag with a text that is longer than what is left of a line")
        ->excludes(app.add_flag("--other", other, "Another flag"));
    const std::string help = app.help("program");
    EXPECT_NE(help.find("  --depth N               At once (1 to 64; default 8)\n"),
              std::string::npos)
        << help;
    EXPECT_NE(help.find("  --mode WORD             How (on, off or auto; with --depth)\n"),
              std::string::npos)
        << help;
    EXPECT_NE(help.find("  --socket PATH           Where\n"), std::string::npos) << help;
    EXPECT_NE(help.find("  -f,--flag               A flag with a text that is longer than what is "
                        "left\n                          of a line (not with --other)\n"),
              std::string::npos)
        << help;
}

TEST(Help, ARangeOfNumbersHasNoNan) {
    CLI::App app("Watches");
    app.formatter(std::make_shared<HelpFormatter>());
    double seconds = 1;
    app.add_option("interval", seconds, "Seconds")
        ->check(CLI::Range(0.01, 3600.0))
        ->check(is_number());
    EXPECT_NE(app.help("program").find("(0.01 to 3600)"), std::string::npos) << app.help("program");
    EXPECT_NO_THROW(app.parse("0.5"));
    for (const char* wrong : {"nan", "NaN", "inf", "0", "4000"}) {
        EXPECT_THROW(app.parse(wrong), CLI::ValidationError) << wrong;
    }
}

}  // namespace
}  // namespace blkscope
