// Parts of a page that change together with another part of it, once that was fetched again: they have
// [data-follows] and an id.

// Puts `fresh` in the place of `current`, unless somebody is about to press one of its buttons.
export const replacePart = (current, fresh) => {
  if (current && fresh && !current.contains(document.activeElement)) current.replaceWith(document.adoptNode(fresh));
};

// Takes these parts from `page`, the same page as it is now.
export const replaceFollowing = (page) => {
  for (const current of document.querySelectorAll("[data-follows]")) replacePart(current, page.getElementById(current.id));
};
