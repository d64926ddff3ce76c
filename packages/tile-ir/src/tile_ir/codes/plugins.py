"""Codes of plugins: finding, loading and checking what other distributions offer."""

CODES = {
    "E0901": (
        "no plugin of that name",
        "Nothing that is installed offers this name in the group. The note lists what is there. "
        "Install the distribution that offers it, or mend the spelling.",
    ),
    "E0902": (
        "malformed manifest",
        "A plugin's manifest has a field that is not what its group wants. The message names the "
        "field. This is the plugin author's to mend; the manifest classes document every field.",
    ),
    "E0903": (
        "broken plugin",
        "The plugin is installed, and importing its manifest failed. The note quotes the plugin's "
        "own exception. Update or uninstall the distribution that the message names.",
    ),
    "E0904": (
        "name claimed twice",
        "Two distributions offer the same name in one group, so neither can be chosen. Uninstall "
        "one of the two that the message names.",
    ),
    "E0905": (
        "plugin for another plugin API",
        "The manifest was written for another version of the plugin contract. Install the "
        "plugin's version that was made for this tile-ir, or update tile-ir.",
    ),
    "E0906": (
        "factory cannot be resolved",
        "A manifest refers to `module:attr`, and the module cannot be imported or has no such "
        "attribute. Often a dependency is missing; the note quotes the exception.",
    ),
    "E0907": (
        "no such plugin group",
        "Plugins are grouped by what they offer; the help line lists the groups.",
    ),
}
